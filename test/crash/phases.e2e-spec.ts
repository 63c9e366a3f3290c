import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase, TestIdentities } from '#testing';
import type { HostName } from '../support/executor-hosts.js';
import { type Place, type PlaceName, PLACES, startDaemonIn, workspacesIn } from '../support/executor-places.js';
import { freePort, Installation, type Program, until } from '../support/installation.js';
import { daemonPlace, removePlace } from '../worker/daemon-process.js';
import { isLong } from '../support/long-tests.js';

/** The processes of an installation with one execution in each phase are killed; then everything continues. */

const WORKER = 'phases-host';
const CLAIM_LOCK = 77;
const DAY_MS = 86_400_000;
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

/** A host with its installation: the processor for hosted runs, or a daemon beside it. */
class Site {
  readonly directory = mkdtempSync(join(tmpdir(), 'headrace-phases-'));
  private readonly ledger = join(this.directory, 'ledger');
  private readonly worker = daemonPlace();

  private constructor(
    readonly place: Place,
    private readonly kind: HostName,
    private readonly database: TestDatabase,
    private readonly files: Installation,
    private readonly token: string,
    private readonly port: string,
  ) {
    // Agents run as other users.
    chmodSync(this.directory, 0o777);
  }

  private api!: Program;
  private processor!: Program;
  private daemon: Program | null = null;

  static async open(place: Place, kind: HostName): Promise<Site> {
    const database = await createTestDatabase();
    const identities = new TestIdentities(database);
    const team = await identities.team();
    const { token } = await identities.user({ [team]: 'admin' });
    const port = String(await freePort());
    await place.open();
    const files = await Installation.create({
      DATABASE_URL: database.url,
      PORT: port,
      // Longer than the restart of a host on a busy machine, because a runner counts its lease from the call of its claim.
      LEASE_TTL: '8s',
      CLAIM_DEADLINE: '20s',
      WORKER_HEARTBEAT_TIMEOUT: '8s',
      MAX_CONCURRENT_RUNS: '8',
      MAX_CONCURRENT_RUNS_PER_TEAM: '8',
      API_RATE_PER_MINUTE: '0',
      HEADRACE_TEST_CLOCK: 'true',
      ...(kind === 'processor' ? place.settings(port) : {}),
    });
    const site = new Site(place, kind, database, files, token, port);
    writeFileSync(site.worker.keyFile, `${(await identities.serviceAccount(team)).token}\n`);
    site.api = files.start('api');
    await site.api.says('Headrace API is ready');
    site.processor = files.start('processor');
    await site.processor.says('Headrace processor is ready');
    if (kind === 'worker') await site.startDaemon();
    return site;
  }

  get host(): Program {
    return this.daemon ?? this.processor;
  }

  private get workspaces(): string {
    return workspacesIn(this.kind === 'worker' ? this.worker.directory : this.files.dataDir);
  }

  private async startDaemon(): Promise<void> {
    this.daemon = await startDaemonIn(this.place, this.worker, { port: this.port, workerId: WORKER });
  }

  async killHost(): Promise<void> {
    await this.host.stop('SIGKILL');
    if (this.kind === 'worker') return this.startDaemon();
    this.processor = this.files.start('processor');
    await this.processor.says('Headrace processor is ready');
  }

  killRunners(): void {
    const pids = this.place.runnerPids(this.host);
    expect(pids.length).toBeGreaterThanOrEqual(4);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.files.callAt(method, path, body, this.token);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** The script of a run leaves a line for each start of its agent. */
  async createRun(name: string, script: string, environment?: object): Promise<string> {
    const config = {
      ...(this.kind === 'worker' && { worker_host: WORKER }),
      ...(environment && {
        environment_id: (await this.call('POST', '/environments', { config: { name, ...environment } })).uid,
      }),
    };
    const prompt = sh(`umask 000; echo ${name} >> ${this.ledger}; ${script}`);
    return (await this.call('POST', '/agent/runs', { prompt, config })).run_id;
  }

  starts(name: string): number {
    if (!existsSync(this.ledger)) return 0;
    return readFileSync(this.ledger, 'utf8')
      .split('\n')
      .filter((line) => line === name).length;
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  waitsFor(name: string): string {
    return `until [ -e ${this.file(name)} ]; do sleep 0.05; done`;
  }

  async reaches(runId: string, state: string): Promise<void> {
    const isReached = async (): Promise<boolean> => (await this.call('GET', `/agent/runs/${runId}`)).state === state;
    await until(isReached, 60_000, `${runId} ${state}`);
  }

  async inPhase(runId: string, phase: string): Promise<void> {
    const look = async (): Promise<boolean> =>
      (await this.database.query('SELECT 1 FROM executions WHERE run_id = $1 AND phase = $2', [runId, phase])).length >
      0;
    await until(look, 30_000, `${runId} in the phase ${phase}`);
  }

  /** From now on, claims of runs with this text in their prompt wait until the returned function is called. */
  async holdClaims(text: string): Promise<() => Promise<void>> {
    await this.database.query(`
CREATE FUNCTION hold_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM headrace.runs WHERE id = NEW.run_id AND prompt LIKE '%${text}%') THEN
    PERFORM pg_advisory_xact_lock_shared(${CLAIM_LOCK});
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER hold_claim BEFORE UPDATE ON headrace.executions FOR EACH ROW
  WHEN (OLD.phase = 'offered' AND NEW.phase = 'claimed') EXECUTE FUNCTION hold_claim();`);
    const holder = new pg.Client({ connectionString: this.database.url });
    // The database is dropped in the end.
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock($1)', [CLAIM_LOCK]);
    return () => holder.end();
  }

  async waitingClaim(): Promise<void> {
    const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${CLAIM_LOCK} AND NOT granted`;
    await until(async () => (await this.database.query(waiting)).length > 0, 30_000, 'a claim that waits');
  }

  /** Ends all sessions: their time is over. */
  async endSessions(): Promise<void> {
    await this.database.advanceClock(DAY_MS);
    const isEmpty = (): boolean => this.place.leftovers(this.workspaces).length === 0;
    await until(isEmpty, 30_000, 'the removal of everything');
  }

  async close(): Promise<void> {
    await this.daemon?.stop('SIGKILL');
    for (const program of [this.processor, this.api]) await program.stop('SIGTERM');
    await this.place.close();
    await this.database.close();
    this.files.remove();
    removePlace(this.worker);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

type Killed = 'host' | 'runner' | 'engine';

const MATRIX = (Object.keys(PLACES) as PlaceName[]).flatMap((place) =>
  (['processor', 'worker'] as const)
    // Only the processor has runners that wait.
    .filter((host) => host === 'processor' || place !== 'process with reused runners')
    .flatMap((host) =>
      (['host', 'runner', 'engine'] as const)
        .filter((killed) => killed !== 'engine' || place === 'docker')
        .map((killed) => ({ place, host, killed })),
    ),
);
/** The other combinations are in the long tests. */
const SAMPLE = [{ place: 'process', host: 'worker', killed: 'host' }] as const;

describe('an installation with an execution in each phase', { timeout: 150_000 }, () => {
  let site: Site | null = null;

  afterEach(async () => {
    await site?.close();
    site = null;
  });

  it.each(isLong ? MATRIX : SAMPLE)(
    'loses and repeats nothing when the $killed of a $host with the backend $place is killed',
    async ({ place, host, killed }: { place: PlaceName; host: HostName; killed: Killed }) => {
      site = await Site.open(PLACES[place](), host);
      const idle = await site.createRun('idle', 'true');
      await site.reaches(idle, 'SUCCEEDED');
      const debug = await site.createRun('debug', 'true', {
        setup_commands: ['exit 3'],
        failure_session_retention_minutes: 10,
      });
      await site.reaches(debug, 'FAILED');
      const started = await site.createRun('started', site.waitsFor('go-started'));
      const claimed = await site.createRun('claimed', 'true', { setup_commands: [site.waitsFor('go-claimed')] });
      const release = await site.holdClaims('echo offered');
      const offered = await site.createRun('offered', 'true');
      await site.waitingClaim();
      await Promise.all([
        site.inPhase(idle, 'idle'),
        site.inPhase(debug, 'debug'),
        site.inPhase(started, 'started'),
        site.inPhase(claimed, 'claimed'),
        site.inPhase(offered, 'offered'),
      ]);
      await until(() => site?.starts('started') === 1, 20_000, 'the start of the agent');

      if (killed === 'host') await site.killHost();
      else if (killed === 'runner') site.killRunners();
      else await site.place.killEngine?.();

      await release();
      for (const name of ['go-started', 'go-claimed']) writeFileSync(site.file(name), '');
      // What has not started is repeated, except that a self-hosted worker reports the end of its runner, which is final.
      const isRepeated = killed === 'host' || host === 'processor';
      for (const runId of [offered, claimed]) await site.reaches(runId, isRepeated ? 'SUCCEEDED' : 'ERROR');
      // What has started is never repeated: it ends with its runner, and continues without its host.
      await site.reaches(started, killed === 'host' ? 'SUCCEEDED' : 'ERROR');
      await site.reaches(idle, 'SUCCEEDED');
      await site.reaches(debug, 'FAILED');
      const starts = ['idle', 'debug', 'started', 'claimed', 'offered'].map((name) => [name, site?.starts(name)]);
      const repeated = isRepeated ? 1 : 0;
      expect(Object.fromEntries(starts)).toEqual({
        idle: 1,
        debug: 0,
        started: 1,
        claimed: repeated,
        offered: repeated,
      });
      await site.endSessions();
    },
  );
});
