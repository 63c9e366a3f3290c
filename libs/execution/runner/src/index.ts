export * from './launcher-contract.js';
export * from './run-execution.js';
export { jsonLinesLog, type LogFields, type RunnerLog } from './runner-log.js';
export { killTree, sweep, sweepByMarker, sweepByUid, type SweepResult, type SweepTargets } from './process/sweep.js';
export { removeTree } from './workspace/workspace.js';
export { detectHarnesses, type DetectedHarness } from './harness/detect-harnesses.js';
export { BUILTIN_HARNESS, harnessIds, STANDARD_HARNESSES } from './harness/harnesses.js';
export { HarnessesFileError, readHarnessesFile } from './harness/harnesses-file.js';
export { runBuiltinAgent } from './oz/run-builtin-agent.js';
