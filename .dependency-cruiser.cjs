/**
 * The dependencies that are allowed, as ARCHITECTURE.md describes them: apps → domain → execution and platform → kernel.
 * A library is imported through its index.ts. The order of the domain libraries is defined here.
 */
const platform = [
  'config',
  'persistence',
  'embedded-postgres',
  'jobs',
  'timers',
  'audit',
  'http',
  'auth',
  'secrets',
  'storage',
  'observability',
  'plugins',
  'git',
];
/** The domain libraries that each domain library may import. */
const domain = {
  administration: [],
  factories: [],
  environments: [],
  agents: ['environments'],
  webhooks: ['factories'],
  ingress: ['webhooks'],
  runs: ['environments', 'agents', 'factories'],
  conversations: ['runs'],
  schedules: ['environments', 'agents', 'runs'],
  automations: ['factories', 'environments', 'agents', 'runs', 'webhooks', 'schedules', 'answers'],
  notifications: ['runs'],
  answers: ['environments', 'runs', 'notifications'],
  definitions: ['factories', 'environments', 'agents', 'webhooks', 'runs', 'automations', 'schedules'],
};
const any = (layer, names) => `^libs/${layer}/(${names.join('|')})/`;
const domainNames = Object.keys(domain);
/** Libraries of protocols: types and parsers, used by both ends. */
const PROTOCOLS = '^libs/execution/(runner-protocol|worker-protocol)/';

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'public-entry-point-only',
      comment: 'Another library is imported through its index.ts only.',
      severity: 'error',
      from: { path: '^((?:libs/(?:platform|domain|execution)/|libs/|apps/)[^/]+)/' },
      to: {
        path: '^libs/((platform|domain|execution)/)?[^/]+/src/',
        pathNot: ['^libs/((platform|domain|execution)/)?[^/]+/src/index\\.ts$', '^$1/src/'],
      },
    },
    {
      name: 'kernel-imports-nothing',
      severity: 'error',
      from: { path: ['^libs/platform/kernel/', PROTOCOLS] },
      to: { path: '^(libs|apps)/', pathNot: ['^libs/platform/kernel/', PROTOCOLS] },
    },
    {
      name: 'platform-imports-no-domain',
      severity: 'error',
      from: { path: any('platform', platform) },
      // libs/testing: the rule testing-is-never-shipped; specs may use it.
      to: { path: '^libs/(domain|execution)/|^apps/' },
    },
    ...Object.entries(domain).map(([name, below]) => ({
      name: `domain-order-${name}`,
      severity: 'error',
      from: { path: `^libs/domain/${name}/` },
      to: {
        path: any(
          'domain',
          domainNames.filter((other) => other !== name && !below.includes(other)),
        ),
      },
    })),
    {
      name: 'executions-imports-its-neighbours',
      comment: 'Executions uses the protocols, the runner side and the sockets of workers; nothing of them uses it.',
      severity: 'error',
      from: { path: '^libs/execution/(?!executions/)' },
      to: { path: '^libs/execution/executions/' },
    },
    {
      name: 'execution-imports-no-domain',
      severity: 'error',
      from: { path: '^libs/execution/' },
      to: { path: '^libs/domain/|^apps/' },
    },
    {
      name: 'runner-shares-no-database',
      comment: 'A runner uses HTTP to talk to the API and has no other connection to the server.',
      severity: 'error',
      from: { path: '^libs/execution/runner/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(execution/(runner|runner-protocol)|platform/(kernel|git))/' },
    },
    {
      name: 'backends-needs-no-server',
      comment: 'The processor and the worker daemon start runners with it, and the worker daemon has no database.',
      severity: 'error',
      from: { path: '^libs/execution/backends/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^libs/',
        pathNot: '^libs/(execution/(backends|runner|runner-protocol)|platform/(kernel|git))/',
      },
    },
    {
      name: 'worker-needs-no-server',
      comment: 'The processor and the worker daemon each have one.',
      severity: 'error',
      from: { path: '^libs/execution/worker/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(execution/(worker|backends|runner|runner-protocol)|platform/kernel)/' },
    },
    {
      name: 'worker-daemon-needs-no-server',
      comment: 'The daemon of a self-hosted worker is a client of the API.',
      severity: 'error',
      from: { path: '^libs/execution/worker-daemon/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^libs/',
        pathNot:
          '^libs/(execution/(worker-daemon|worker-protocol|worker|backends|runner|runner-protocol)|platform/(kernel|git))/',
      },
    },
    {
      name: 'pure-domain',
      comment: 'domain/ is plain TypeScript: no Nest, no TypeORM, no I/O.',
      severity: 'error',
      from: { path: '^libs/.+/domain/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: [
          'node_modules/(@nestjs|typeorm|pg|bullmq|express)',
          '^(node:)?(fs|http|https|net|child_process)',
          '/src/(application|http|jobs|persistence|adapters)/',
          '^libs/domain/agents/src/skills/(application|http|adapters)/',
        ],
      },
    },
    {
      name: 'application-imports-no-http',
      severity: 'error',
      from: { path: '^libs/.+/application/', pathNot: '\\.spec\\.ts$' },
      to: { path: '/src/(skills/)?http/' },
    },
    {
      name: 'testing-is-never-shipped',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: ['^libs/testing/', '\\.spec\\.ts$'] },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'published-code-imports-dependencies',
      comment: 'An installed package has no development dependencies; the conformance tests declare theirs as peers.',
      severity: 'error',
      // The build of the console contains what it imports.
      from: { path: '^(apps|libs)/', pathNot: ['^libs/testing/src/(?!published/)', '^apps/console/', '\\.spec\\.ts$'] },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/(vitest|fast-check|@types)/' },
    },
    {
      name: 'console-is-a-client',
      comment: 'The console knows the server by openapi.json only, and no other code loads the console.',
      severity: 'error',
      from: { path: '^apps/console/' },
      to: { path: '^(libs|apps/(?!console/))' },
    },
    {
      name: 'nothing-imports-the-console',
      severity: 'error',
      from: { path: '^(libs|apps/(?!console/))' },
      to: { path: '^apps/console/' },
    },
    {
      name: 'libs-import-no-app',
      severity: 'error',
      from: { path: '^libs/', pathNot: '^libs/testing/' },
      to: { path: '^apps/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
