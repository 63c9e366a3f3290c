// `npm run bench -- NAME`: measures against a floor in one run and prints ratios.
const BENCHES = {
  create: () => import('./bench/create.mjs').then(({ benchCreate }) => benchCreate()),
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
  evaluate: () => import('./bench/evaluate.mjs').then(({ benchEvaluate }) => benchEvaluate()),
};

const name = process.argv[2] ?? '';
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : null;
if (!bench) {
  console.error(`Usage: npm run bench -- ${Object.keys(BENCHES).join('|')}`);
  process.exit(2);
}
await bench();
process.exit();
