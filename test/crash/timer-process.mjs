// Fires timers in its own process. With `TIMER_CLOCKWORK` whenever they are due, until it is ended; else what is due
// now, and it ends itself at a named step: `KILL_AT=step:nth`.
import { startFiringApp } from '../support/firing-app.mjs';

const app = await startFiringApp(process.env);
app.killAt(process.env.KILL_AT);
process.stdout.write('firing\n');
if (!process.env.TIMER_CLOCKWORK) {
  await app.fireTimers();
  process.stdout.write('everything is fired\n');
  await app.close();
}
