// Evaluates all deliveries in its own process, which ends itself at a named step: `KILL_AT=step:nth`, or when it is
// shown a delivery of this identity: `KILL_ON=identity`.
import { startFiringApp } from '../support/firing-app.mjs';

const { KILL_AT, KILL_ON } = process.env;
const app = await startFiringApp(process.env);
app.killAt(KILL_AT);
if (KILL_ON !== undefined)
  app.onDelivery(({ identity }) => {
    if (identity === KILL_ON) process.kill(process.pid, 'SIGKILL');
  });
process.stdout.write('evaluating\n');
await app.evaluateAll();
process.stdout.write('everything is evaluated\n');
await app.close();
