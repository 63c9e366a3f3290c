// Fires timers in a process of its own. With `TIMER_CLOCKWORK` whenever they are due, until it is ended; else what is due
// now, and it ends itself at a named step: `KILL_AT=step:nth`.
import { startFiringApp } from '../support/firing-app.mjs';

const app = await startFiringApp(process.env);
const [killAt, nth = '1'] = (process.env.KILL_AT ?? '').split(':');
let passed = 0;
app.onStep((step) => {
  if (step !== killAt) return;
  passed += 1;
  if (passed === Number(nth)) process.kill(process.pid, 'SIGKILL');
});
process.stdout.write('firing\n');
if (!process.env.TIMER_CLOCKWORK) {
  await app.fireTimers();
  process.stdout.write('everything is fired\n');
  await app.close();
}
