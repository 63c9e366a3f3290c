import { spawn } from 'node:child_process';
import { root } from './paths.mjs';

/** Runs a program to its end and keeps its output. Resolves with `{ passed, output, seconds }`. */
export function capture(program, args) {
  return new Promise((resolve) => {
    const started = performance.now();
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    const end = (passed, extra = '') =>
      resolve({
        passed,
        output: Buffer.concat(chunks).toString() + extra,
        seconds: (performance.now() - started) / 1000,
      });
    child.on('error', (error) => end(false, error.message));
    child.on('close', (code) => end(code === 0));
  });
}
