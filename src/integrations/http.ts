// Entry point `zerotime/http`. It imports only types of frameworks, and its declarations compile
// without them: see packaging/types.mjs.
export {
  type AddressedContext,
  type AddressedRequest,
  type AddressKeyOptions,
  addressKey,
} from './http/address-key.ts';
export {
  type ExpressLimitOptions,
  type ExpressMiddleware,
  type ExpressRequest,
  expressMiddleware,
} from './http/express.ts';
export {
  type ExpressHits,
  type ExpressRateLimitStore,
  expressRateLimitStore,
} from './http/express-store.ts';
export {
  type FastifyApp,
  type FastifyHook,
  type FastifyLimitOptions,
  fastifyHook,
  fastifyPlugin,
  type RepliedTo,
} from './http/fastify.ts';
export {
  type FastifyHitsCallback,
  type FastifyRateLimitStore,
  type FastifyRateLimitStoreClass,
  fastifyRateLimitStore,
} from './http/fastify-store.ts';
export type { HitStoreOptions } from './http/hit-counts.ts';
export {
  type HonoContext,
  type HonoLimitOptions,
  type HonoMiddleware,
  honoMiddleware,
} from './http/hono.ts';
export type { InFlightLimiter } from './http/in-flight.ts';
export { type NodeLimitOptions, nodeListener } from './http/node.ts';
export type {
  KeyedRequestLimiter,
  RequestLimiter,
  RequestLimitOptions,
} from './http/options.ts';
