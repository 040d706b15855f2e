import { named, type Plan } from './plan.ts';

const inThrees = named({
  'add 3': 'add 100 3',
  'add 5 later': 'add 1100 5',
  refuse: 'refuse',
  answer: 'answer',
});
const { refuse, answer, ...adds } = inThrees;

/** Arrivals at instants that are early, late and far apart, beside refusals and kept spans. */
export const ARRIVALS_PLAN: Plan = {
  subject: 'arrivals',
  module: 'arrivals',
  setup: '1000',
  operations: { ...adds, ...named({ look: 'look 600' }), refuse, answer },
  inThrees,
  followed: ['refuse and answer', refuse, answer],
};
