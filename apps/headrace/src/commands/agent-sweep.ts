import { clearRemains } from '../runner-door/guard.js';

/** What the guard of a runner becomes when that one is killed. */
export async function run(): Promise<number> {
  await clearRemains();
  return 0;
}
