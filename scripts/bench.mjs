// `npm run bench -- NAME…`: measures against a floor in one run and prints ratios, and each aim beside what was measured.
import { printAims } from './bench/aims.mjs';

const BENCHES = {
  create: () => import('./bench/create.mjs').then(({ benchCreate }) => benchCreate()),
  compare: () => import('./bench/compare.mjs').then(({ benchCompare }) => benchCompare()),
  scale: () => import('./bench/scale.mjs').then(({ benchScale }) => benchScale()),
  list: () => import('./bench/list.mjs').then(({ benchList }) => benchList()),
  ingress: () => import('./bench/ingress.mjs').then(({ benchIngress }) => benchIngress()),
  schedules: () => import('./bench/schedules.mjs').then(({ benchSchedules }) => benchSchedules()),
  workers: () => import('./bench/workers.mjs').then(({ benchWorkers }) => benchWorkers()),
  placement: () => import('./bench/placement.mjs').then(({ benchPlacement }) => benchPlacement()),
  execution: () => import('./bench/execution.mjs').then(({ benchExecution }) => benchExecution()),
  snapshot: () => import('./bench/snapshot.mjs').then(({ benchSnapshot }) => benchSnapshot()),
  'console-list': () => import('./bench/console-list.mjs').then(({ benchConsoleList }) => benchConsoleList()),
  'console-run': () => import('./bench/console-run.mjs').then(({ benchConsoleRun }) => benchConsoleRun()),
  'console-views': () => import('./bench/console-views.mjs').then(({ benchConsoleViews }) => benchConsoleViews()),
  events: () => import('./bench/events.mjs').then(({ benchEvents }) => benchEvents()),
  evaluate: () => import('./bench/evaluate.mjs').then(({ benchEvaluate }) => benchEvaluate()),
};

const names = process.argv.slice(2);
if (names.length === 0 || !names.every((name) => Object.hasOwn(BENCHES, name))) {
  console.error(`Usage: npm run bench -- NAME…, of ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}
for (const name of names) {
  if (names.length > 1) console.log(`\n# ${name}`);
  await BENCHES[name]();
}
printAims();
process.exit();
