export * from './random-work-tree.js';
export * from './work-tree-report.js';
export { applyWorkTreeSteps, initWorkTree, type WorkTreeStep } from './work-tree-steps.js';
