import fc from 'fast-check';
import { anyText } from '../any-text.js';
import type { WorkTreeContent, WorkTreeStep } from './work-tree-steps.js';

const name = fc.constantFrom('a', 'b', 'c.txt', 'ü ñ', 'new\nline', '-dash', 'deep/er/file', 'B', 'ignored.log', '😀');
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444);

/** The large ones are at the limit of a block of a pack, above it, and larger than two packs. */
const content: fc.Arbitrary<WorkTreeContent> = fc.oneof(
  { weight: 6, arbitrary: anyText({ maxLength: 40 }).map((text) => ({ text })) },
  { weight: 3, arbitrary: fc.constant({ text: '' }) },
  { weight: 3, arbitrary: fc.nat(5).map((n) => ({ lines: n * 40_000 })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { random: 1_048_576 },
      { random: 1_048_577 },
      { lines: 1_500_000 },
      { random: 36_000_000 },
    ),
  },
);

const BARE = '../../home/origin.git';
const gitStep = (...args: readonly string[]): fc.Arbitrary<WorkTreeStep> => fc.constant({ do: 'git', args });

/** Steps and how often each occurs. */
const STEPS: readonly (readonly [weight: number, step: fc.Arbitrary<WorkTreeStep>])[] = [
  [6, fc.record({ do: fc.constant('write' as const), path: name, content, mode })],
  [3, name.map((path) => ({ do: 'git', args: ['add', '--', path] }))],
  [1, name.map((path) => ({ do: 'git', args: ['add', '--intent-to-add', '--', path] }))],
  [2, gitStep('add', '--all')],
  [3, gitStep('commit', '--quiet', '--message=more')],
  [2, gitStep('push', '--quiet', '--set-upstream', 'origin', 'HEAD')],
  [2, name.map((path) => ({ do: 'remove', path }))],
  [1, name.map((path) => ({ do: 'git', args: ['rm', '--quiet', '--cached', '--', path] }))],
  [2, fc.tuple(name, name).map(([from, to]) => ({ do: 'git', args: ['mv', '--', from, to] }))],
  [2, fc.tuple(name, name).map(([path, to]) => ({ do: 'rename', path, to: `${to}-moved` }))],
  [1, fc.record({ do: fc.constant('chmod' as const), path: name, mode })],
  [1, fc.constantFrom(0o755, 0o700, 0o555).map((bits) => ({ do: 'mkdir', path: 'empty', mode: bits }))],
  [
    2,
    fc
      .tuple(name, fc.constantFrom('a', '/nonexistent', '../..', 'deep', 'loop'))
      .map(([path, target]) => ({ do: 'link', path: `${path}-link`, target })),
  ],
  [1, fc.constantFrom('side', 'other').map((branch) => ({ do: 'git', args: ['checkout', '--quiet', '-B', branch] }))],
  [1, gitStep('checkout', '--quiet', '--detach')],
  [1, gitStep('merge', '--quiet', 'side')],
  [1, gitStep('stash', 'push', '--quiet')],
  [1, gitStep('tag', 'v1')],
  [1, gitStep('gc', '--quiet')],
  [1, gitStep('sparse-checkout', 'set', '--no-cone', '/*', '!deep')],
  [1, gitStep('sparse-checkout', 'set', '--cone', 'deep')],
  [1, gitStep('worktree', 'add', '-q', '../tree', '-b', 'tree')],
  [1, gitStep('worktree', 'add', '-q', '--detach', '../tree')],
  [1, fc.constant<WorkTreeStep>({ do: 'git', at: BARE, args: ['worktree', 'add', '-q', '../../work/bare', 'main'] })],
  [
    1,
    fc.constant<WorkTreeStep>({
      do: 'write',
      path: '.gitignore',
      content: { text: 'ignored.log\n' },
      mode: 0o644,
    }),
  ],
  [1, fc.constant<WorkTreeStep>({ do: 'LFS pointer' })],
  [1, fc.constant<WorkTreeStep>({ do: 'nested repository' })],
  [1, fc.constant<WorkTreeStep>({ do: 'submodule' })],
  [1, fc.constant<WorkTreeStep>({ do: 'git', at: 'module', args: ['commit', '--quiet', '--allow-empty', '-m', 'm'] })],
  [1, fc.constant<WorkTreeStep>({ do: 'name that is not UTF-8' })],
];

/** One change of a work tree. */
export const workTreeStep: fc.Arbitrary<WorkTreeStep> = fc.oneof(
  ...STEPS.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);
