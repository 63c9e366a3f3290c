// Evaluates all deliveries in a process of its own, which ends itself at a named step: `KILL_AT=step:nth`.
import { startFiringApp } from '../support/firing-app.mjs';

const app = await startFiringApp(process.env);
app.killAt(process.env.KILL_AT);
process.stdout.write('evaluating\n');
await app.evaluateAll();
process.stdout.write('everything is evaluated\n');
await app.close();
