// Executed by an agent in the working directory of its run: `work-tree-process.js FILE`. The file says what is done: {"steps",
// "first", "found", "made"}. Writes what it finds to the file `found` unless it is the first, changes the work tree, and writes what
// it has made to the file `made`.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { gitStateOf, listSnapshotted, listWorkTree } from '../../libs/testing/src/work-trees/work-tree-report.js';
import { applyWorkTreeSteps, initWorkTree } from '../../libs/testing/src/work-trees/work-tree-steps.js';

const { steps, first, found, made } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const root = dirname(process.cwd());
const write = (file, report) => writeFileSync(file, JSON.stringify({ root, ...report }));

if (first) initWorkTree(root);
// Before git looks at the files, and writes the index.
else write(found, { files: listWorkTree(root), git: gitStateOf(root) });
applyWorkTreeSteps(root, steps);
const git = gitStateOf(root);
write(made, { files: listSnapshotted(root), git });
process.stdout.write('The work tree is made.\n');
