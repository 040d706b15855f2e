// The exports of the module for semaphores.

export { lostRaces } from './results';
export {
  semaphoreGeneration,
  semaphoreIsQueued,
  semaphoreRelease,
  semaphoreTake,
} from './semaphore/semaphore';
export {
  semaphoreExpire,
  semaphoreHold,
  semaphoreOwns,
  semaphoreRecover,
  semaphoreUndated,
} from './semaphore/owner';
export {
  semaphoreIsGranted,
  semaphoreJoin,
  semaphoreLeave,
  semaphoreServe,
  semaphoreWaiting,
} from './semaphore/queue';
export {
  semaphoreAvailable,
  semaphoreChange,
  semaphoreHasRoom,
  semaphoreLook,
  semaphorePermits,
} from './semaphore/permits';
