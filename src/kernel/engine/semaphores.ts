// The exports of the module for semaphores.

export { lostRaces } from './results';
export {
  adaptAdd,
  adaptClose,
  adaptCount,
  adaptDrop,
  adaptDropped,
  adaptDroppedEver,
  adaptMostInFlight,
  adaptPut,
  adaptSum,
  adaptValue,
} from './semaphore/adapt';
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
