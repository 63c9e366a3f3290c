import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BackendFault } from '../backend.js';
import { podSpecification } from './pod-specification.js';
import { readPodTemplate } from './pod-template.js';

let directory: string;
let file: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-template-'));
  file = join(directory, 'pod.yaml');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const read = (text: string) => {
  writeFileSync(file, text);
  return readPodTemplate(file);
};

describe('readPodTemplate', () => {
  it('adds its fields to the pod, and replaces nothing that isolates an execution', () => {
    const template = read(`
metadata: { labels: { team: platform, io.headrace.execution: '9' } }
spec:
  nodeSelector: { pool: agents }
  securityContext: { runAsUser: 10001 }
  volumes: [{ name: cache, emptyDir: {} }]
  containers:
    - name: runner
      env: [{ name: HTTPS_PROXY, value: proxy }, { name: NODE_OPTIONS, value: --inspect }]
      volumeMounts: [{ name: cache, mountPath: /cache }]
      resources: { requests: { cpu: '1' } }
`);
    const { metadata, spec } = podSpecification({
      ...{ name: 'p', image: 'tools:1', runnerImage: 'headrace:1', cpus: 2, memoryBytes: 1024, diskBytes: 0, template },
      labels: { 'io.headrace.execution': '7' },
    });
    expect(metadata?.labels).toEqual({ team: 'platform', 'io.headrace.execution': '7' });
    expect(spec).toMatchObject({ nodeSelector: { pool: 'agents' }, automountServiceAccountToken: false });
    expect(spec?.securityContext).toEqual({ runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec?.volumes?.map(({ name }) => name)).toContain('cache');
    const [runner] = spec?.containers ?? [];
    expect(runner?.env?.findLast(({ name }) => name === 'NODE_OPTIONS')?.value).toBe('');
    expect(runner?.resources).toMatchObject({ requests: { cpu: '1', memory: '1024' }, limits: { cpu: '2' } });
    expect(
      podSpecification({
        ...{ name: 'p', image: 'i', runnerImage: 'r', cpus: 2, memoryBytes: 1024, diskBytes: 0, labels: {} },
        template: read('spec: { containers: [{ name: runner, resources: { limits: { memory: 512 } } }] }'),
      }).spec?.containers[0]?.resources,
    ).toMatchObject({ limits: { memory: 512 }, requests: { memory: 512 } });
    expect(runner?.volumeMounts?.map(({ mountPath }) => mountPath)).toContain('/cache');
  });

  it.each([
    ['spec: { hostNetwork: true }', 'hostNetwork'],
    ['spec: { containers: [{ name: runner, securityContext: { privileged: true } }] }', 'securityContext'],
    ['spec: { containers: [{ name: other }] }', 'spec.containers.0.name'],
    ['spec: { securityContext: { runAsUser: root } }', 'spec.securityContext.runAsUser'],
    ['metadata: { finalizers: [a] }', 'finalizers'],
    ['{', 'cannot be read'],
  ])('rejects %s', (text, problem) => {
    expect(() => read(text)).toThrow(BackendFault);
    expect(() => read(text)).toThrow(problem);
  });

  it('rejects a missing file, and is empty without one', () => {
    expect(() => readPodTemplate(join(directory, 'missing'))).toThrow('cannot be read');
    expect(readPodTemplate('')).toEqual({});
  });
});
