import type { Operation } from '../subject.ts';
import type { Plan } from './plan.ts';

const refuse: Operation = ['refuse'];
const answer: Operation = ['answer'];

/** Arrivals at instants that are early, late and far apart, beside refusals and kept spans. */
export const ARRIVALS_PLAN: Plan = {
  subject: 'arrivals',
  module: 'arrivals',
  setup: '1000',
  operations: {
    'add 3': ['add', 100, 3],
    'add 5 later': ['add', 1100, 5],
    look: ['look', 600],
    refuse,
    answer,
  },
  inThrees: { 'add 3': ['add', 100, 3], 'add 5 later': ['add', 1100, 5], refuse, answer },
  followed: ['refuse and answer', refuse, answer],
};
