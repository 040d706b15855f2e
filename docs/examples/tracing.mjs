// docs/examples/tracing.mjs: sets up tracing, in every thread: node --import ./tracing.mjs
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { samplerFrom } from 'zerotime/opentelemetry';

const sdk = new NodeSDK({ sampler: samplerFrom(), traceExporter: new OTLPTraceExporter() });
sdk.start();
process.once('beforeExit', () => sdk.shutdown()); // exports what is left
