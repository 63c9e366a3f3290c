/**
 * The house's walls. Imports point down: apps → rooms → platform → kernel; a room is entered through its index.ts.
 * Room order (each may know the ones to its left): factories, environments, workers < agents < runs < conversations, schedules, notifications.
 */
const platform = ['config', 'persistence', 'jobs', 'http', 'auth', 'secrets', 'storage', 'observability', 'git'];
const rooms = {
  factories: [],
  environments: [],
  workers: [],
  agents: ['environments'],
  webhooks: ['factories'],
  runs: ['environments', 'agents', 'workers', 'factories'],
  conversations: ['runs'],
  schedules: ['environments', 'agents', 'runs'],
  automations: ['factories', 'environments', 'agents', 'runs', 'webhooks', 'schedules'],
  notifications: ['runs'],
  definitions: ['factories', 'environments', 'agents', 'webhooks', 'runs', 'automations', 'schedules'],
};
const any = (names) => `^libs/(${names.join('|')})/`;
const roomNames = Object.keys(rooms);

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'one-door',
      comment: 'Another library is imported through its index.ts only; its tables through migrations.ts.',
      severity: 'error',
      from: { path: '^(libs|apps)/([^/]+)/' },
      to: { path: '^libs/([^/]+)/src/', pathNot: ['^libs/[^/]+/src/(index|migrations)\\.ts$', '^libs/$2/src/'] },
    },
    {
      name: 'kernel-knows-nobody',
      severity: 'error',
      from: { path: '^libs/(kernel|runner-protocol|worker-protocol)/' },
      to: { path: '^(libs|apps)/', pathNot: '^libs/(kernel|runner-protocol|worker-protocol)/' },
    },
    {
      name: 'platform-knows-no-room',
      severity: 'error',
      from: { path: any(platform) },
      // libs/testing: the rule testing-is-never-shipped; specs may use it.
      to: { path: `${any(roomNames)}|^apps/|^libs/runner/` },
    },
    ...Object.entries(rooms).map(([room, below]) => ({
      name: `room-order-${room}`,
      severity: 'error',
      from: { path: `^libs/${room}/` },
      to: { path: any(roomNames.filter((other) => other !== room && !below.includes(other))) },
    })),
    {
      name: 'runner-shares-no-database',
      comment: 'The execution side talks HTTP to the API and nothing else.',
      severity: 'error',
      from: { path: '^libs/runner/' },
      to: { path: '^libs/', pathNot: '^libs/(runner|runner-protocol|kernel|git)/' },
    },
    {
      name: 'runner-host-needs-no-server',
      comment:
        'What starts runners on a machine is used by the processor and by the worker daemon, which has no database.',
      severity: 'error',
      from: { path: '^libs/runner-host/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(runner-host|runner|runner-protocol|kernel|git)/' },
    },
    {
      name: 'worker-needs-no-server',
      comment: 'The daemon of a self-hosted worker talks to the API as any client does.',
      severity: 'error',
      from: { path: '^libs/worker/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(worker|worker-protocol|runner-host|runner|runner-protocol|kernel|git)/' },
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
          '^libs/agents/src/skills/(application|http|adapters)/',
        ],
      },
    },
    {
      name: 'application-below-the-edge',
      severity: 'error',
      from: { path: '^libs/.+/application/', pathNot: '\\.spec\\.ts$' },
      to: { path: '/src/(skills/)?http/', pathNot: '^libs/http/' },
    },
    {
      name: 'testing-is-never-shipped',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: ['^libs/testing/', '\\.spec\\.ts$'] },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'libs-know-no-app',
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
