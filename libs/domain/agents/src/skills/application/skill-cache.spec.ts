import { describe, expect, it } from 'vitest';
import type { Settings } from '#platform/config';
import { ReadSkills, type SkillsReading } from './read-skills.js';
import { SkillCache } from './skill-cache.js';
import { type SkillRepository, SkillSource, SkillSources, type SourceReading } from './skill-sources.js';

const MINUTE = 60_000;
const repository = (name: string, identity?: string): SkillRepository => ({
  owner: 'acme',
  name,
  url: `https://example.com/acme/${name}`,
  isGithub: false,
  ...(identity !== undefined && { credential: { identity, open: () => Promise.resolve({ password: identity }) } }),
});
const withBody = (body: string): SourceReading => ({
  kind: 'read',
  files: [
    {
      mode: '100644',
      oid: body.slice(0, 20),
      size: body.length,
      path: '.agents/skills/a/SKILL.md',
      content: Buffer.from(body),
    },
  ],
});
const bodyOf = (reading: SkillsReading): string => {
  const [skill] = reading.kind === 'read' ? reading.skills : [];
  return skill?.parsed.kind === 'skill' ? skill.parsed.body : reading.kind;
};

class ScriptedSource extends SkillSource {
  override readonly id = 'scripted';
  readings: SkillRepository[] = [];
  answer: (repository: SkillRepository) => SourceReading | Promise<SourceReading> = () => withBody('one');

  override reads(): boolean {
    return true;
  }
  override async read(asked: SkillRepository): Promise<SourceReading> {
    this.readings.push(asked);
    return this.answer(asked);
  }
}

function open(): { cache: SkillCache; source: ScriptedSource; pass: (ms: number) => void } {
  const source = new ScriptedSource();
  const sources = new SkillSources();
  sources.register(source);
  let now = Date.parse('2026-01-01T00:00:00Z');
  const cache = new SkillCache(new ReadSkills(sources), { skillsCacheTtl: 5 * MINUTE } as Settings, {
    now: () => new Date(now),
  });
  return { cache, source, pass: (ms) => void (now += ms) };
}
const AWAY: SourceReading = { kind: 'unreadable', detail: 'Away.', retryable: true };

describe('SkillCache', () => {
  it('keeps what was read for a time, for each credential', async () => {
    const { cache, source, pass } = open();
    await cache.get(repository('a'), false, 1000);
    await cache.get(repository('a'), false, 1000);
    await cache.get(repository('a', 'x'), false, 1000);
    await cache.get(repository('a', 'y'), false, 1000);
    expect(source.readings.map(({ credential }) => credential?.identity)).toEqual([undefined, 'x', 'y']);
    pass(5 * MINUTE);
    await cache.get(repository('a'), false, 1000);
    expect(source.readings).toHaveLength(4);
  });

  it('shows what it has while the repository cannot be read, and nothing once it is gone', async () => {
    const { cache, source, pass } = open();
    await cache.get(repository('a'), false, 1000);
    source.answer = () => AWAY;
    pass(5 * MINUTE);
    expect(bodyOf(await cache.get(repository('a'), false, 1000))).toBe('one');
    expect(await cache.get(repository('b'), false, 1000)).toEqual(AWAY);
    // Failures are asked about again soon, but not at once.
    const before = source.readings.length;
    await cache.get(repository('a'), false, 1000);
    expect(source.readings).toHaveLength(before);
    pass(MINUTE);
    source.answer = () => ({ kind: 'unreadable', detail: 'Gone.', retryable: false });
    expect(bodyOf(await cache.get(repository('a'), false, 1000))).toBe('unreadable');
  });

  it('answers a refresh with a reading that begins after the request', async () => {
    const { cache, source } = open();
    const first: ((reading: SourceReading) => void)[] = [];
    source.answer = () => new Promise((resolve) => first.push(resolve));
    const early = cache.get(repository('a'), false, 10_000);
    await expect.poll(() => first.length).toBe(1);
    const news = [1, 2, 3].map(() => cache.get(repository('a'), true, 10_000));
    source.answer = () => withBody('two');
    first[0]?.(withBody('one'));
    expect(bodyOf(await early)).toBe('one');
    for (const reading of news) expect(bodyOf(await reading)).toBe('two');
    expect(source.readings).toHaveLength(2);
  });

  it('does not ask more often than a rate, however often news is wanted', async () => {
    const { cache, source, pass } = open();
    for (let times = 0; times < 100; times += 1) await cache.get(repository('a'), true, 1000);
    expect(source.readings).toHaveLength(20);
    pass(MINUTE);
    await cache.get(repository('a'), true, 1000);
    expect(source.readings).toHaveLength(21);
  });

  it('answers in time when a repository does not', async () => {
    const { cache, source } = open();
    let finish: (reading: SourceReading) => void = () => undefined;
    source.answer = () => new Promise((resolve) => (finish = resolve));
    expect(await cache.get(repository('a'), false, 10)).toMatchObject({ kind: 'unreadable', retryable: true });
    finish(withBody('late'));
    expect(bodyOf(await cache.get(repository('a'), false, 10_000))).toBe('late');
    expect(source.readings).toHaveLength(1);
  });

  it('forgets what was not used for longest, not to hold too much', async () => {
    const { cache, source } = open();
    const big = 'x'.repeat(250_000);
    source.answer = ({ name }) => withBody(`${name.padEnd(20)}${big}`);
    for (let index = 0; index < 400; index += 1) {
      await cache.get(repository(`r${index}`), false, 1000);
      await cache.get(repository('r0'), false, 1000);
    }
    expect(source.readings).toHaveLength(400);
    await cache.get(repository('r399'), false, 1000);
    expect(source.readings).toHaveLength(400);
    await cache.get(repository('r1'), false, 1000);
    expect(source.readings).toHaveLength(401);
  });

  it('does not let a fault of a source out', async () => {
    const { cache, source } = open();
    source.answer = () => {
      throw new Error('not for callers');
    };
    const reading = await cache.get(repository('a'), false, 1000);
    expect(reading).toEqual({ kind: 'unreadable', detail: 'The repository cannot be read now.', retryable: true });
  });

  it('reads for others while the repositories of one team do not answer', async () => {
    const { cache, source } = open();
    source.answer = ({ readFor }) => (readFor === 'slow' ? new Promise(() => undefined) : withBody('one'));
    for (let index = 0; index < 20; index += 1)
      void cache.get({ ...repository(`slow${index}`), readFor: 'slow' }, false, 1);
    for (let index = 0; index < 20; index += 1)
      expect(bodyOf(await cache.get({ ...repository(`r${index}`), readFor: 'quick' }, false, 10_000))).toBe('one');
    expect(bodyOf(await cache.get(repository('public'), false, 10_000))).toBe('one');
    expect(source.readings.filter(({ readFor }) => readFor === 'slow')).toHaveLength(3);
  });

  it('reads all in the end, however many ask at once', async () => {
    const { cache, source } = open();
    let running = 0;
    let most = 0;
    source.answer = async () => {
      most = Math.max(most, (running += 1));
      await new Promise(setImmediate);
      running -= 1;
      return withBody('one');
    };
    const asked = Array.from({ length: 60 }, (_, index) => ({ ...repository(`r${index}`), readFor: `t${index % 5}` }));
    const readings = await Promise.all(asked.map((one) => cache.get(one, false, 10_000)));
    expect(readings.map(bodyOf)).toEqual(asked.map(() => 'one'));
    expect(most).toBe(8);
  });
});
