import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/paths.mjs';

/**
 * Words that do not occur in this repository, each with what the field says instead. A name is checked word by word. Add a
 * word here when a reviewer had to ask what it means.
 */
const WORDS = [
  [/\bwhoever\b/, 'name the subject'],
  [/\bwhatever becomes\b/, 'name the result'],
  [/\b(?:re)?told\b/, 'returned, reported, notified'],
  [/\banew\b/, 'again'],
  [/\b(?:of|on) (?:its|their|his|one's|ones) own\b/, 'separate, by itself'],
  [/\bat hand\b/, 'available'],
  [/\b(?:come|comes|coming|came) by\b/, 'get, redeem'],
  [/\bmend(?:s|ed|ing)?\b/, 'fix, repair'],
  [/\b(?:go|goes|going|went|gone) on\b/, 'continue'],
  [/\bfor want of\b/, 'because … is missing'],
  [/\bin vain\b/, 'without success'],
  [/\bfarewell\b/, 'shutdown'],
  [/\bknock(?:s|ed|ing)?\b/, 'request'],
  [/\brooms?\b/, 'module, fixture, capacity'],
  [/\bdoors?\b/, 'entry point, handler'],
  [/\bdesks?\b/, 'broker'],
  [/\bladder\b/, 'sequence'],
  [/\bshelf\b/, 'collection'],
  [/\bpulse\b/, 'heartbeat'],
  [/\btally\b/, 'counter'],
  [/\bpassengers?\b/, 'waiter'],
  [/\bsequels?\b/, 'restart policy'],
  [/\bobjections?\b/, 'rejection'],
  [/\bcarr(?:y|ies|ied|ying) out\b/, 'execute'],
  [/\bwhat stands\b/, 'what is written'],
  [/\bfor ever\b/, 'forever, without limit'],
  [/\bof none\b/, 'name the case'],
];

/** Data that others have written, and this list. */
const EXCLUDED = [
  /^package-lock\.json$/,
  /^LICENSE$/,
  /^scripts\/check-language\.mjs$/,
  /\.jsonl$/,
  /^test\/persistence\/version-/,
  /^test\/workers\/golden\//,
  /\/test-fixtures\//,
  /vectors\.json$/,
];
const TEXT = /\.(ts|tsx|mjs|cjs|js|json|md|sql|html|css|ya?ml|example|txt)$/;

/** The parts of camelCase and snake_case names as separate words, so that names are checked like sentences. */
const asWords = (line) =>
  line
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([a-z])_([a-z])/gi, '$1 $2')
    .replace(/(\w)-(\w)/g, '$1 $2')
    .toLowerCase();

function findings(text) {
  return text.split('\n').flatMap((line, index) => {
    const words = asWords(line);
    return WORDS.flatMap(([pattern, instead]) => {
      const match = pattern.exec(words);
      return match ? [{ line: index + 1, word: match[0], instead }] : [];
    });
  });
}

function check() {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => TEXT.test(file) && !EXCLUDED.some((pattern) => pattern.test(file)));
  let count = 0;
  for (const file of files) {
    const all = [
      ...findings(file).map((one) => ({ ...one, line: 0 })),
      ...findings(readFileSync(join(root, file), 'utf8')),
    ];
    for (const { line, word, instead } of all) console.error(`${file}:${line}: "${word}": ${instead}`);
    count += all.length;
  }
  if (count > 0) console.error(`${count} words that do not occur in this repository.`);
  return count;
}

process.exitCode = check() > 0 ? 1 : 0;
