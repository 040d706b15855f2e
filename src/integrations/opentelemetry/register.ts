// Entry point `zerotime/opentelemetry/register`, for `node --import`.
import { NodeSDK } from '@opentelemetry/sdk-node';
import { autoInstrumentations } from './auto-instrumentations.ts';
import { register } from './registration.ts';

await register(NodeSDK, process, autoInstrumentations);
