// Entry point `zerotime/opentelemetry/register`, for `node --import`.
import { NodeSDK } from '@opentelemetry/sdk-node';
import { checkPeer } from '../../peers.ts';
import { autoInstrumentations, register } from './registration.ts';

checkPeer('zerotime/opentelemetry/register', '@opentelemetry/sdk-node');
await register(NodeSDK, process, autoInstrumentations);
