import { spawn } from 'node:child_process';
import { root } from './paths.mjs';

/** Thrown when a step of preparation fails; the step itself has said why. */
export class StepFailed extends Error {}

/**
 * Runs a program to its end in the checkout, its output on ours. A signal to us ends it first: neither `npm ci` nor the
 * compiler may continue without us.
 */
export function runStep(program, args, { env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const stop = (signal) => child.kill(signal);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
    const settle = (outcome) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, stop);
      outcome();
    };
    child.on('error', (error) => settle(() => reject(new StepFailed(`${program} cannot be run: ${error.message}.`))));
    child.on('exit', (code, signal) =>
      settle(() =>
        code === 0
          ? resolve()
          : reject(new StepFailed(`${[program, ...args].join(' ')} ended with ${signal ?? code}.`)),
      ),
    );
  });
}
