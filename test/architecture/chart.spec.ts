import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as kubernetes from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { SETTINGS } from '#platform/config';

const CHART = fileURLToPath(new URL('../../deploy/helm/headrace', import.meta.url));
const NO_HELM = spawnSync('helm', ['version']).error && '(helm is not installed)';
const VALUES = readdirSync(join(CHART, 'ci')).filter((name) => name.endsWith('-values.yaml'));
const MODELS = join(dirname(fileURLToPath(import.meta.resolve('@kubernetes/client-node'))), 'gen/models');

interface Model {
  readonly attributeTypeMap: readonly { readonly baseName: string; readonly type: string }[];
}
interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly object[];
  // Tests look into resources of many kinds.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly spec?: any;
}

const modelOf = (name: string): Model | undefined =>
  (kubernetes as unknown as Readonly<Record<string, Model | undefined>>)[name];
/** Of custom resources, whose schemas are not those of Kubernetes. */
const CUSTOM = ['monitoring.coreos.com/v1'];

/** As in the class of the client, which is generated from the OpenAPI description of Kubernetes. */
function requiredOf(model: string): string[] {
  const source = readFileSync(join(MODELS, `${model}.d.ts`), 'utf8');
  return [...source.matchAll(/^ {4}'(\w+)': /gm)].flatMap(([, name]) => name ?? []);
}

/** What an API server with strict validation would reject: unknown and missing fields, and values of another type. */
function problemsOf(value: unknown, type: string, path: string): string[] {
  const array = /^Array<(.+)>$/.exec(type)?.[1];
  if (array !== undefined)
    return Array.isArray(value)
      ? value.flatMap((one, index) => problemsOf(one, array, `${path}/${index}`))
      : [`${path} is not a list`];
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (map !== undefined)
    return Object.entries(value as object).flatMap(([key, one]) => problemsOf(one, map, `${path}/${key}`));
  const model = modelOf(type);
  if (!model?.attributeTypeMap) {
    if (type === 'any' || type === 'IntOrString' || type === 'Date') return [];
    return typeof value === type ? [] : [`${path} is not of the type ${type}: ${JSON.stringify(value)}`];
  }
  if (typeof value !== 'object' || value === null) return [`${path} is not an object`];
  const known = new Map(model.attributeTypeMap.map((attribute) => [attribute.baseName, attribute.type]));
  return [
    ...requiredOf(type).flatMap((name) => (name in value ? [] : [`${path}/${name} is missing`])),
    ...Object.entries(value).flatMap(([name, one]) => {
      const attribute = known.get(name);
      return attribute === undefined ? [`${path}/${name} is unknown`] : problemsOf(one, attribute, `${path}/${name}`);
    }),
  ];
}

function kindOf({ apiVersion, kind }: Resource): string {
  const version = apiVersion.split('/').at(-1) ?? '';
  return `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
}

function render(file: string, ...args: string[]): Resource[] {
  const versions = ['--kube-version', '1.34'];
  const command = [
    'template',
    'test',
    CHART,
    '--namespace',
    'headrace',
    '--values',
    join(CHART, 'ci', file),
    ...versions,
  ];
  const { status, stdout, stderr } = spawnSync('helm', [...command, ...args], { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return parseAllDocuments(stdout, { uniqueKeys: true }).flatMap((document) => {
    expect(document.errors).toEqual([]);
    const resource = document.toJSON() as Resource | null;
    return resource === null ? [] : [resource];
  });
}

const find = (resources: readonly Resource[], kind: string, name: string): Resource => {
  const found = resources.find((one) => one.kind === kind && one.metadata.name === name);
  if (!found) throw new Error(`There is no ${kind} ${name}.`);
  return found;
};

describe.skipIf(NO_HELM)(`the Helm chart ${NO_HELM ?? ''}`.trim(), () => {
  it.each(VALUES)('passes helm lint and the schemas of Kubernetes with %s', (file) => {
    const lint = spawnSync('helm', ['lint', '--strict', CHART, '--values', join(CHART, 'ci', file)], {
      encoding: 'utf8',
    });
    expect(lint.status, lint.stdout + lint.stderr).toBe(0);
    const resources = render(file);
    expect(resources.length).toBeGreaterThan(8);
    for (const resource of resources.filter(({ apiVersion }) => !CUSTOM.includes(apiVersion))) {
      const kind = kindOf(resource);
      expect(modelOf(kind), kind).toBeDefined();
      expect(problemsOf(resource, kind, `${kind} ${resource.metadata.name}`)).toEqual([]);
    }
  });

  it.each(VALUES)('sets only settings that exist, and no secret outside of a Secret, with %s', (file) => {
    const names = new Set(Object.values(SETTINGS).map(({ env }) => env));
    for (const { kind, metadata, spec } of render(file)) {
      if (kind !== 'Deployment' && kind !== 'Job') continue;
      const [container] = spec.template.spec.containers;
      for (const { name } of container.env)
        expect([metadata.name, name, names.has(name)]).toEqual([metadata.name, name, true]);
      expect(JSON.stringify(container.env)).not.toMatch(/SECRETS_KEY|DATABASE_URL/);
      expect(container.securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('scales by processor time and by the queue, gives the processor alone an account, and keeps large numbers', () => {
    const resources = render('full-values.yaml');
    const metric = (process: string) => find(resources, 'HorizontalPodAutoscaler', `test-${process}`).spec.metrics[0];
    expect(metric('api').resource.name).toBe('cpu');
    expect(metric('processor').external.metric.name).toBe('headrace_runs_queued');
    for (const process of ['api', 'ingress', 'processor']) {
      const { template, replicas } = find(resources, 'Deployment', `test-${process}`).spec;
      expect(replicas).toBeUndefined();
      expect(template.spec.automountServiceAccountToken).toBe(process === 'processor' ? undefined : false);
      expect(template.spec.containers[0].env).toContainEqual({ name: 'GIT_MIRRORS_MAX_BYTES', value: '53687091200' });
    }
    expect(resources.filter(({ kind }) => kind === 'Secret' || kind === 'Namespace')).toEqual([]);
    expect(find(resources, 'NetworkPolicy', 'test-runs').spec.egress).toHaveLength(3);
  });

  it('has probes that a lost database does not fail, one pod away at a time, and a migration before the processes', () => {
    const resources = render('full-values.yaml');
    const paths = { api: '/health/live', ingress: '/health/live', processor: '/healthz' };
    for (const [process, path] of Object.entries(paths)) {
      const [container] = find(resources, 'Deployment', `test-${process}`).spec.template.spec.containers;
      expect(container.startupProbe.httpGet.path).toBe(path);
      expect(container.livenessProbe.httpGet.path).toBe(path);
      expect(container.readinessProbe?.httpGet.path).toBe(process === 'processor' ? undefined : '/health/ready');
      expect(find(resources, 'PodDisruptionBudget', `test-${process}`).spec).toMatchObject({
        maxUnavailable: 1,
        selector: { matchLabels: { 'app.kubernetes.io/name': `headrace-${process}` } },
      });
    }
    const job = find(resources, 'Job', 'test-migrate');
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(job.spec.template.spec.containers[0].args).toEqual(['migrate']);
  });

  it('lets the processor manage pods and write secrets in the namespace of runs, and nothing else', () => {
    const resources = render('full-values.yaml');
    expect(resources.filter(({ kind }) => kind.startsWith('Cluster'))).toEqual([]);
    const roles = resources.filter(({ kind }) => kind === 'Role');
    expect(roles.map(({ metadata, rules }) => [metadata.name, rules])).toEqual([
      [
        'test-processor',
        [
          { apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'list', 'watch', 'delete'] },
          { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'delete'] },
        ],
      ],
    ]);
    expect(find(resources, 'RoleBinding', 'test-processor')).toMatchObject({
      metadata: { namespace: roles[0]?.metadata.namespace },
      subjects: [{ kind: 'ServiceAccount', name: 'test-processor', namespace: 'headrace' }],
    });
  });

  it('is rejected with a sentence without an object store, a database or a key', () => {
    const attempt = (...set: string[]): string =>
      spawnSync('helm', ['template', 'test', CHART, ...set.flatMap((one) => ['--set', one])], { encoding: 'utf8' })
        .stderr;
    const database = 'secrets.DATABASE_URL=postgres://postgres/headrace';
    const key = 'secrets.SECRETS_KEY=not-a-secret-only-for-rendering-tests';
    expect(attempt()).toContain('secrets.DATABASE_URL or existingSecret is required');
    expect(attempt(database)).toContain('secrets.SECRETS_KEY or existingSecret is required');
    expect(attempt(database, key)).toContain('settings.OBJECT_STORE_URL is required');
  });

  it('uses the APIs that an older cluster has', () => {
    const command = [
      'template',
      'test',
      CHART,
      '--values',
      join(CHART, 'ci/full-values.yaml'),
      '--kube-version',
      '1.21',
    ];
    const { stdout } = spawnSync('helm', command, { encoding: 'utf8' });
    expect(stdout).toContain('apiVersion: autoscaling/v2beta2');
  });
});
