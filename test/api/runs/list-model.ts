import fc from 'fast-check';
import { newUuid } from '#platform/kernel';
import { RUN_STATES } from '#execution/executions';

/*
 * The rules of the list, in memory: small sets of runs with few values, so that ties, shared values and near misses are
 * everywhere; and what a query must answer to them.
 */

export type Owner = 'team' | 'other' | 'self';

export interface ModelRun {
  readonly id: string;
  readonly owner: Owner;
  readonly state: string;
  readonly title: string;
  readonly prompt: string;
  readonly source: string;
  readonly location: string;
  readonly creator: string;
  readonly executor: string;
  readonly name: string | null;
  readonly model: string | null;
  readonly harnessModel: string | null;
  readonly environment: string | null;
  readonly host: string | null;
  readonly skill: string | null;
  readonly schedule: string | null;
  readonly metadata: Record<string, string> | null;
  /** Microseconds after {@link START}. */
  readonly created: number;
  readonly updated: number;
  readonly artifacts: readonly string[];
  readonly ancestors: readonly string[];
}

/** As in the query string; lists for what may be repeated. */
export interface ModelQuery {
  readonly sort: 'updated_at' | 'created_at' | 'title' | 'agent';
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** The team that the header picks; null: no header. */
  readonly team: 'team' | 'other' | null;
  readonly filters: Readonly<Record<string, string>>;
  readonly states: readonly string[];
  /** Other parameters that may be repeated; empty: left out. */
  readonly repeated: Readonly<Record<'source' | 'factory_uid' | 'task_status', readonly string[]>>;
  /** Index of the run that is asked for as ancestor. */
  readonly ancestor: number | null;
}

export const START = Date.UTC(2026, 0, 1);
const SOURCES = ['API', 'SLACK', 'CLI'];
const ARTIFACTS = ['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'DIFF', 'EXTERNAL_REFERENCE'];
const STATUS: Readonly<Record<string, readonly string[]>> = {
  running: ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS'],
  failed: ['FAILED', 'ERROR'],
  blocked: ['BLOCKED'],
  cancelled: ['CANCELLED'],
  complete: ['SUCCEEDED'],
};
const SKILLS = ['acme/app:a', 'acme/app:B', 'acme/app:review/SKILL.md', 'zulu/app:ä'];
const ENVIRONMENTS = ['A'.repeat(22), 'b1'.repeat(11)];
const HOSTS = ['farm', 'Farm', 'hosted'];
const PEOPLE = ['ann', 'bob', 'Bob'];
const MODELS = ['auto', 'Auto', 'large-2'];
const NAMES = ['nightly', 'review', "o'neil %_\\"];
const WORDS = ['deploy', 'Webhook', 'parser', 'cache', 'Zürich', 'fix', 'v2', 'team', 'tame', 'deplored'];
/** Written as in texts, wrong in one letter, partial, or nothing of the kind. */
const SOUGHT = [
  ...['deploy', 'DEPLOY', 'webhook', 'zürich', 'parser fix', 'fix parser', 'ache', 'pars-er', 'v2', '2', 'team'],
  ...[
    'delpoy',
    'deplo',
    'deploi',
    'eploy',
    'wehook',
    'webhoook',
    'wbehook',
    'prasre',
    'zurich',
    'teem',
    'taem',
    'v3',
    'nothing',
  ],
  ...['deploy delpoy', '% _', "o'neil", 'fix, parser!'],
].filter((text) => /[\p{L}\p{N}]/u.test(text));
const PAIRS: readonly (readonly [string, string])[] = [
  ['a', '1'],
  ['a', '2'],
  ['b', ''],
  ['x.y-z_0', 'ü'],
  ['0', 'zero'],
  ['automation_id', 'm1'],
  ['factory_uid', 'f1'],
  ['factory_uid', 'f2'],
];
/** Some within one millisecond. */
const MOMENTS = [0, 1, 999, 1000, 1001, 86_400_000_000, 86_400_000_999];

const some = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const maybe = <T>(values: readonly T[]): fc.Arbitrary<T | null> => fc.option(some(...values), { nil: null, freq: 2 });
const sentence = fc.array(some(...WORDS), { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));

const runShape = fc.record({
  owner: some<Owner>('team', 'team', 'other', 'self'),
  state: some(...RUN_STATES),
  title: sentence,
  prompt: sentence,
  source: some(...SOURCES),
  location: some('LOCAL', 'REMOTE'),
  creator: some(...PEOPLE),
  executor: some(...PEOPLE),
  name: maybe(NAMES),
  model: maybe(MODELS),
  harnessModel: maybe(MODELS),
  environment: maybe(ENVIRONMENTS),
  host: maybe(HOSTS),
  skill: maybe(SKILLS),
  schedule: maybe(['s1', 's2']),
  metadata: fc.option(
    fc.subarray([...PAIRS]).map((pairs) => Object.fromEntries(pairs)),
    { nil: null },
  ),
  created: some(...MOMENTS),
  updated: some(...MOMENTS),
  artifacts: fc.uniqueArray(some(...ARTIFACTS), { maxLength: 2 }),
  /** How far back in the set the parent is; 0: none. */
  parent: some(0, 0, 0, 1, 2),
});

export const dataSet: fc.Arbitrary<ModelRun[]> = fc.array(runShape, { maxLength: 24 }).map((shapes) => {
  const runs: ModelRun[] = [];
  for (const { parent, ...shape } of shapes) {
    const above = parent === 0 ? undefined : runs.at(-parent);
    runs.push({ ...shape, id: newUuid(), ancestors: above ? [...above.ancestors, above.id] : [] });
  }
  return runs;
});

export const at = (microseconds: number): string => new Date(START + Math.floor(microseconds / 1000)).toISOString();
const one = (name: string, values: readonly string[]): fc.Arbitrary<Record<string, string>> =>
  some(...values).map((value) => ({ [name]: value }));

/** Rare, so that most queries find runs. */
const few = (values: readonly string[]): fc.Arbitrary<string[]> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constant<string[]>([]) },
    fc.subarray([...values], { minLength: 1, maxLength: 2 }),
  );

const filter: fc.Arbitrary<Record<string, string>> = fc.oneof(
  one('name', [...NAMES, 'Nightly']),
  one('model_id', MODELS),
  one('creator', PEOPLE),
  one('executor', PEOPLE),
  one('execution_location', ['LOCAL', 'REMOTE']),
  one('environment_id', [...ENVIRONMENTS, 'empty-environment', 'a'.repeat(22)]),
  one('worker_host', HOSTS),
  one('skill', SKILLS),
  one('skill_spec', SKILLS),
  one('schedule_id', ['s1', 's2', 's3']),
  one('artifact_type', ARTIFACTS),
  one('created_after', MOMENTS.map(at)),
  one('created_before', MOMENTS.map(at)),
  one('updated_after', MOMENTS.map(at)),
  one('q', SOUGHT),
  one('automation_id', ['m1', 'm2']),
  one('factory_only', ['true', 'true', 'false']),
  some(...PAIRS).map(([key, value]) => ({ [`metadata[${key}]`]: value })),
);

export const query: fc.Arbitrary<ModelQuery> = fc.record({
  sort: some<ModelQuery['sort']>('updated_at', 'created_at', 'title', 'agent'),
  order: some<ModelQuery['order']>('asc', 'desc'),
  limit: some(1, 2, 5, 500),
  team: some<ModelQuery['team']>(null, null, 'team', 'other'),
  filters: fc
    .array(filter, { maxLength: 3 })
    .map((filters): Record<string, string> => Object.assign({}, ...filters) as Record<string, string>)
    // Both at once is another test's matter.
    .map(({ skill, ...others }) =>
      skill === undefined || others.skill_spec !== undefined ? others : { ...others, skill },
    ),
  states: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.subarray([...RUN_STATES], { minLength: 1 })),
  repeated: fc.record({
    source: few(SOURCES),
    factory_uid: few(['f1', 'f2', 'f3']),
    task_status: few(Object.keys(STATUS)),
  }),
  ancestor: fc.option(fc.nat(23), { nil: null, freq: 1 }).filter((index) => index === null || index % 4 === 0),
});

/** Ids that the whole walk must give, in order. */
export function expectedIds(runs: readonly ModelRun[], asked: ModelQuery): string[] {
  const scope = runs.filter(({ owner }) => owner === 'self' || asked.team === null || owner === asked.team);
  const sign = asked.order === 'asc' ? 1 : -1;
  const compare = <T extends string | number>(a: T, b: T): number => (a === b ? 0 : a < b ? -sign : sign);
  return scope
    .filter((run) => matches(run, asked, scope, runs))
    .sort((a, b) => {
      const [left, right] = [sortValue(a, asked), sortValue(b, asked)];
      if (left === null || right === null) return left === right ? compare(a.id, b.id) : left === null ? 1 : -1;
      return (
        (typeof left === 'string' && typeof right === 'string'
          ? sign * Buffer.compare(Buffer.from(left), Buffer.from(right))
          : compare(left, right)) || compare(a.id, b.id)
      );
    })
    .map(({ id }) => id);
}

function sortValue(run: ModelRun, { sort }: ModelQuery): string | number | null {
  switch (sort) {
    case 'updated_at':
      return run.updated;
    case 'created_at':
      return run.created;
    case 'title':
      return run.title.toLowerCase();
    case 'agent':
      return run.skill;
  }
}

function matches(run: ModelRun, asked: ModelQuery, scope: readonly ModelRun[], all: readonly ModelRun[]): boolean {
  if (asked.states.length > 0 && !asked.states.includes(run.state)) return false;
  if (asked.ancestor !== null && !run.ancestors.includes(all[asked.ancestor]?.id ?? '')) return false;
  const { source, factory_uid: factories, task_status: statuses } = asked.repeated;
  if (source.length > 0 && !source.includes(run.source)) return false;
  if (factories.length > 0 && !factories.includes(run.metadata?.factory_uid ?? '')) return false;
  const below = scope.filter(({ ancestors }) => ancestors.includes(run.id));
  const hasStatus = (status: string): boolean =>
    STATUS[status]?.includes(run.state) === true ||
    (status === 'running' && below.some(({ state }) => STATUS.running?.includes(state)));
  if (statuses.length > 0 && !statuses.some(hasStatus)) return false;
  return Object.entries(asked.filters).every(([name, value]) => fulfils(run, name, value, scope));
}

/** What the wire shows of a time. */
const shown = (microseconds: number): number => START + Math.floor(microseconds / 1000);

function fulfils(run: ModelRun, name: string, value: string, scope: readonly ModelRun[]): boolean {
  const key = /^metadata\[(.*)\]$/.exec(name)?.[1] ?? (name === 'automation_id' ? name : undefined);
  if (key !== undefined) return run.metadata?.[key] === value;
  switch (name) {
    case 'name':
      return run.name === value;
    case 'model_id':
      return run.model === value || run.harnessModel === value;
    case 'creator':
      return run.creator === value;
    case 'executor':
      return run.executor === value;
    case 'factory_only':
      return value === 'false' || run.metadata?.factory_uid !== undefined;
    case 'execution_location':
      return run.location === value;
    case 'environment_id':
      return (run.environment ?? 'empty-environment') === value;
    case 'worker_host':
      return run.host === value;
    case 'skill':
    case 'skill_spec':
      return run.skill === value;
    case 'schedule_id':
      return run.schedule === value;
    case 'artifact_type':
      return run.artifacts.includes(value);
    case 'created_after':
      return shown(run.created) > Date.parse(value);
    case 'created_before':
      return shown(run.created) < Date.parse(value);
    case 'updated_after':
      return shown(run.updated) > Date.parse(value);
    case 'q':
      return hasAllWords(run, value, scope);
    default:
      throw new Error(`No rule for ${name}.`);
  }
}

const textOf = (run: ModelRun): string => `${run.title} ${run.skill ?? ''} ${run.prompt}`.toLowerCase();

/** Every word somewhere in the text; a word that is nowhere in any run available may differ in one letter. */
function hasAllWords(run: ModelRun, sought: string, scope: readonly ModelRun[]): boolean {
  return (sought.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).every((word) => {
    if (textOf(run).includes(word)) return true;
    const occurs = scope.some((other) => textOf(other).includes(word));
    if (occurs || word.length < 4 || !/^\p{L}+$/u.test(word)) return false;
    return (textOf(run).match(/[\p{L}\p{N}]+/gu) ?? []).some((candidate) => beginsLike(candidate, word));
  });
}

/** Whether some beginning of `candidate` is `word` but for one edit; of words of four letters only a swap counts. */
function beginsLike(candidate: string, word: string): boolean {
  for (const length of [word.length - 1, word.length, word.length + 1]) {
    const beginning = candidate.slice(0, length);
    if (beginning.length === length && isOneEditAway(beginning, word)) return true;
  }
  return false;
}

function isOneEditAway(a: string, b: string): boolean {
  const from = [...a].findIndex((letter, index) => letter !== b[index]);
  const start = from === -1 ? a.length : from;
  const swapped = a.slice(0, start) + (a[start + 1] ?? '') + (a[start] ?? '') + a.slice(start + 2);
  if (swapped === b) return true;
  if (b.length < 5) return false;
  const rest = (text: string, skip: number): string => text.slice(start + skip);
  return rest(a, 1) === rest(b, 1) || rest(a, 1) === rest(b, 0) || rest(a, 0) === rest(b, 1);
}
