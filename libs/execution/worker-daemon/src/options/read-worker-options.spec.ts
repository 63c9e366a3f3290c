import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FLAGS, flagsHelp } from './flags.js';
import { isWorldReadable, readWorkerOptions } from './read-worker-options.js';

const KEY = { WARP_API_KEY: 'wk-key' };

describe('readWorkerOptions', () => {
  let directory: string;
  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'headrace-options-'))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));
  const file = (text: string): string => {
    const path = join(directory, 'worker.yaml');
    writeFileSync(path, text);
    return path;
  };
  const problemOf = (args: string[], environment = {}): string => {
    try {
      readWorkerOptions(args, environment);
    } catch (error) {
      return String(error);
    }
    throw new Error('The options were accepted.');
  };

  it('prefers flags to the environment, and the environment to the file', () => {
    const path = file(
      'worker_id: from-file\nmax_concurrent_tasks: 3\ndrain_timeout: 5m\nbackend:\n  direct:\n    workspace_root: /srv/work\n    environment:\n      - name: A\n        value: file\n      - name: HOST_ONE\n      - name: HOST_NONE\n',
    );
    process.env['HOST_ONE'] = 'here';
    const options = readWorkerOptions(['--config-file', path, '--worker-id', 'from-flag', '-e', 'A=flag'], {
      ...KEY,
      HEADRACE_WORKER_ID: 'from-environment',
      HEADRACE_WORKER_MAX_CONCURRENT_TASKS: '4',
    });
    delete process.env['HOST_ONE'];
    expect(options).toMatchObject({
      workerId: 'from-flag',
      slots: 4,
      drainTimeout: 300_000,
      backend: 'process',
      environment: { A: 'flag', HOST_ONE: 'here' },
      process: { workspaceRoot: '/srv/work' },
    });
    expect(options.environment).not.toHaveProperty('HOST_NONE');
    expect(options.apiKey()).toBe('wk-key');
  });

  it('detects whether other users can read the key file', () => {
    const path = file('wk-other');
    const { apiKeyFile } = readWorkerOptions(['--worker-id', 'a', '--api-key-file', path], {});
    expect(apiKeyFile).toBe(path);
    chmodSync(path, 0o644);
    expect(isWorldReadable(path)).toBe(true);
    chmodSync(path, 0o640);
    expect(isWorldReadable(path)).toBe(false);
  });

  it('derives the server URL and the WebSocket URL from each other', () => {
    expect(readWorkerOptions(['--worker-id', 'a', '--server-root-url', 'https://h.example/'], KEY)).toMatchObject({
      serverRootUrl: 'https://h.example',
      webSocketUrl: 'wss://h.example/api/v1/selfhosted/worker/ws',
    });
    const socket = 'ws://h.example:3000/api/v1/selfhosted/worker/ws';
    expect(readWorkerOptions(['--worker-id', 'a', '--web-socket-url', socket], KEY)).toMatchObject({
      serverRootUrl: 'http://h.example:3000',
      webSocketUrl: socket,
    });
  });

  it('accepts JSON, 0 as no limit, and uses one slot for a single run', () => {
    const path = file('{"worker_id": "a", "max_concurrent_tasks": 0, "backend": {"docker": {"volumes": ["/a:/b"]}}}');
    expect(readWorkerOptions(['--config-file', path], KEY)).toMatchObject({
      slots: 1000,
      backend: 'docker',
      docker: { volumes: ['/a:/b'] },
    });
    expect(readWorkerOptions(['--config-file', path, '--one-shot', '--backend', 'direct'], KEY)).toMatchObject({
      slots: 1,
      backend: 'process',
    });
  });

  it('reads the key again from its file', () => {
    const path = file('first\n');
    const { apiKey } = readWorkerOptions(['--worker-id', 'a', '--api-key-file', path], KEY);
    expect(apiKey()).toBe('first');
    file('second\n');
    expect(apiKey()).toBe('second');
  });

  it('reports every problem without values that may be secret', () => {
    expect(problemOf(['--worker-id', 'a'])).toContain('--api-key-file');
    expect(problemOf(['--worker-id', 'a', '--api-key', 'wk-secret'], KEY)).not.toContain('wk-secret');
    expect(problemOf(['--worker-id', 'a', '--api-key=wk-secret'], KEY)).toContain('--api-key-file');
    expect(problemOf(['--worker-id', 'warp-a'], KEY)).toContain('worker_id: must not begin with "warp"');
    expect(problemOf([], KEY)).toContain('worker_id: is missing');
    for (const port of ['often', '9464x', '', '-1', '65536', '80.5'])
      expect(problemOf(['--worker-id', 'a', `--metrics-port=${port}`], KEY)).toContain(
        'metrics_port: must be an integer between 0 and 65535',
      );
    expect(problemOf(['--worker-id', 'a', '--max-concurrent-tasks', 'all'], KEY)).toContain(
      'max_concurrent_tasks: must be an integer between 0 and 1000',
    );
    expect(problemOf(['--config-file', file('worker_id: a\nmetrics_port: .nan')], KEY)).toContain(
      'metrics_port: must be',
    );
    expect(problemOf(['--worker-id', 'a', '--drain-timeout', 'soon'], KEY)).toContain('drain_timeout');
    expect(problemOf(['--worker-id', 'a', '--server-root-url', 'http://user:pw@h'], KEY)).not.toContain('pw');
    expect(problemOf(['--worker-id', 'a', '--backend', 'podman'], KEY)).toContain('--backend must be one of');
    expect(problemOf(['--worker-id', 'a', '--config-file', '/nowhere'], KEY)).toContain('ENOENT');
    expect(problemOf(['--config-file', file('worker_id: [')], KEY)).toContain('not valid YAML');
    expect(problemOf(['--config-file', file('- a')], KEY)).toContain('must be a mapping');
    expect(problemOf(['--config-file', file('worker_id: a\nwork_id: b')], KEY)).toContain('work_id');
    const setup = file('worker_id: a\nbackend:\n  direct:\n    setup_command: make\n');
    expect(problemOf(['--config-file', setup], KEY)).toContain('setup_command: is not supported');
    expect(problemOf(['--worker-id', 'a', '--api-key-file', file('two words')], {})).toContain('Invalid API key');
  });

  it('has help for every flag, with the default of its key', () => {
    expect(flagsHelp().map(({ name }) => name)).toEqual(FLAGS.map(({ name }) => name));
    expect(flagsHelp().find(({ name }) => name === 'drain-timeout')).toMatchObject({ default: '30min' });
    expect(flagsHelp().find(({ name }) => name === 'metrics-host')).toMatchObject({ default: '127.0.0.1' });
  });
});
