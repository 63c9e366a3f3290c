// Evaluates all deliveries in a process of its own, which ends itself at a named step: `KILL_AT=step:nth`.
import { startFiringApp } from '../support/firing-app.mjs';

const app = await startFiringApp(process.env);
const [killAt, nth = '1'] = (process.env.KILL_AT ?? '').split(':');
let passed = 0;
app.onStep((step) => {
  if (step !== killAt) return;
  passed += 1;
  if (passed === Number(nth)) process.kill(process.pid, 'SIGKILL');
});
process.stdout.write('evaluating\n');
await app.evaluateAll();
process.stdout.write('everything is evaluated\n');
await app.close();
