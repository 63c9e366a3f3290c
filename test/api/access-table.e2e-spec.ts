import type { OpenAPIObject } from '@nestjs/swagger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectStore } from '#platform/storage';
import {
  ArtifactBuilder,
  DeliveryBuilder,
  noteExchange,
  RunBuilder,
  startTestApi,
  type TestApi,
  type TestPrincipal,
  WebhookBuilder,
  FactoryBuilder,
} from '#testing';
import { inTeam, UNKNOWN_RUN_ID, UNKNOWN_UID } from '../support/api-requests.js';
import { isLong } from '../support/long-tests.js';

/**
 * Who asks, and whose thing it is that they ask about: the columns of the table.
 *
 * - owner, admin, member, viewer, bot: people and a service account of the team that owns it
 * - both: admin of both teams, who picks none; elsewh: its viewer, who picks the other team, of which they are admin
 * - other, othBot: owner and service account of the other team; nobody: a user on no team
 * - mine: a member of the team asks about their own; colleag: the team's owner asks about what is that member's own
 * - unknown: the team's admin asks about what does not exist
 *
 * Operations with a team header are asked for the team instead: everybody names it in the header but for `mine` and
 * `colleag`, who name none. A service account acts for its own team whatever it names. `unknown`: a team of that uid.
 */
const COLUMNS = 'owner admin member viewer bot both elsewh other othBot nobody mine colleag unknown'.split(' ');

/** What the path, the query or the answer of an operation names. */
type Target =
  | 'run'
  | 'queued run'
  | 'ended run'
  | 'question'
  | 'environment'
  | 'shared'
  | 'identity'
  | 'server'
  | 'webhook'
  | 'secret'
  | 'hook'
  | 'delivery'
  | 'automation'
  | 'schedule'
  | 'factory'
  | 'team';

/** A cell is the status; `none`: 200 that does not show the thing; `-`: there is no such thing. */
// oxfmt-ignore
const TABLE: readonly (readonly [operationId: string, target: Target, cells: string])[] = [
  //                                                   owner admin membr viewr bot   both  elsew other othBt nobdy mine  collg unknwn
  ['createRun',                       'team',         '200   200   200   403   200   200   403   403   200   403   200   -     403'],
  ['runAgent',                        'team',         '200   200   200   403   200   200   403   403   200   403   200   -     403'],
  ['registerExternalRun',             'team',         '200   200   200   403   200   200   403   403   200   403   200   -     403'],
  ['listRuns',                        'run',          '200   200   200   200   200   200   200   403   none  403   200   none  403'],
  ['getRunByExternalReferenceURL',    'run',          '200   200   200   200   200   200   200   404   404   404   200   404   404'],
  ['getRun',                          'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['getRunTimeline',                  'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['getRunHarnessUsage',              'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['streamRunEvents',                 'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['getRunConversation',              'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['getRunTranscript',                'run',          '302   302   302   302   302   302   302   403   403   403   302   403   404'],
  ['listHandoffAttachments',          'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['listRunChanges',                  'run',          '404   404   404   404   404   404   404   403   403   403   404   403   404'],
  ['getRunFile',                      'run',          '404   404   404   404   404   404   404   403   403   403   404   403   404'],
  ['downloadRunArchive',              'run',          '404   404   404   404   404   404   404   403   403   403   404   403   404'],
  ['forkRun',                         'run',          '404   404   404   403   404   404   403   403   403   403   404   403   404'],
  ['rerunRun',                        'run',          '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['cancelRun',                       'queued run',   '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['interruptRun',                    'question',     '202   202   202   403   202   202   403   403   403   403   202   403   404'],
  ['interruptConversation',           'question',     '202   202   202   403   202   202   403   403   403   403   202   403   404'],
  ['submitRunFollowup',               'queued run',   '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['registerExternalFollowup',        'ended run',    '400   400   400   403   400   400   403   403   403   403   400   403   404'],
  ['submitConversationFollowup',      'ended run',    '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['prepareRunAttachments',           'run',          '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['prepareConversationAttachments',  'ended run',    '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['listApprovals',                   'question',     '200   200   200   200   200   200   200   403   none  403   200   none  403'],
  ['listRunApprovals',                'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['decideRunApproval',               'question',     '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['getArtifact',                     'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['downloadArtifact',                'run',          '302   302   302   302   302   302   302   403   403   403   302   403   404'],
  ['getConversation',                 'run',          '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['getConversationTranscript',       'run',          '302   302   302   302   302   302   302   403   403   403   302   403   404'],
  ['getConversationRedirect',         'run',          '200   200   200   200   200   200   200   none  none  none  200   none  none'],
  ['getSessionRedirect',              'run',          '200   200   200   200   200   200   200   none  none  none  200   none  none'],
  ['listEnvironments',                'environment',  '200   200   200   200   200   200   200   403   none  403   200   none  403'],
  ['createEnvironment',               'team',         '201   201   403   403   403   201   403   403   403   403   201   -     403'],
  ['getEnvironment',                  'environment',  '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['updateEnvironment',               'environment',  '200   200   403   403   403   200   403   403   403   403   200   403   404'],
  ['grantEnvironment',                'environment',  '201   201   403   403   403   201   403   403   403   403   201   403   404'],
  ['listEnvironmentGrants',           'environment',  '200   200   403   403   403   200   403   403   403   403   200   403   404'],
  ['revokeEnvironmentGrant',          'shared',       '204   204   403   403   403   204   403   403   403   403   204   403   404'],
  ['createEnvironmentLink',           'environment',  '201   201   403   403   403   201   403   403   403   403   201   403   404'],
  ['listEnvironmentLinks',            'environment',  '200   200   403   403   403   200   403   403   403   403   200   403   404'],
  ['revokeEnvironmentLink',           'shared',       '204   204   403   403   403   204   403   403   403   403   204   403   404'],
  ['redeemEnvironmentLink',           'shared',       '200   200   200   200   403   200   200   200   403   200   200   200   404'],
  ['deleteEnvironment',               'environment',  '204   204   403   403   403   204   403   403   403   403   204   403   404'],
  ['listAgents',                      'team',         '200   200   200   200   200   200   200   403   200   403   200   -     403'],
  ['listConnectedSelfHostedWorkers',  'team',         '200   200   200   200   200   200   200   403   200   403   200   -     403'],
  ['listModels',                      'team',         '200   200   200   200   200   200   200   403   200   403   200   -     403'],
  ['listHarnesses',                   'team',         '200   200   200   200   200   200   200   403   200   403   200   -     403'],
  ['listAgentIdentities',             'identity',     '200   200   200   200   200   200   200   403   none  403   -     -     403'],
  ['createAgentIdentity',             'team',         '201   201   403   403   403   201   403   403   403   403   -     -     403'],
  ['getAgentIdentity',                'identity',     '200   200   200   200   200   200   200   403   403   403   -     -     404'],
  ['updateAgentIdentity',             'identity',     '200   200   403   403   403   200   403   403   403   403   -     -     404'],
  ['deleteAgentIdentity',             'identity',     '204   204   403   403   403   204   403   403   403   403   -     -     404'],
  ['listMcpServers',                  'server',       '200   200   200   200   200   200   200   403   none  403   -     -     403'],
  ['createMcpServer',                 'team',         '201   201   403   403   403   201   403   403   403   403   -     -     403'],
  ['getMcpServer',                    'server',       '200   200   200   200   200   200   200   403   403   403   -     -     404'],
  ['updateMcpServer',                 'server',       '200   200   403   403   403   200   403   403   403   403   -     -     404'],
  ['deleteMcpServer',                 'server',       '204   204   403   403   403   204   403   403   403   403   -     -     404'],
  ['listNotificationWebhooks',        'webhook',      '200   200   200   200   200   200   200   403   none  403   -     -     403'],
  ['createNotificationWebhook',       'team',         '201   201   403   403   403   201   403   403   403   403   -     -     403'],
  ['getNotificationWebhook',          'webhook',      '200   200   200   200   200   200   200   403   403   403   -     -     404'],
  ['updateNotificationWebhook',       'webhook',      '200   200   403   403   403   200   403   403   403   403   -     -     404'],
  ['deleteNotificationWebhook',       'webhook',      '204   204   403   403   403   204   403   403   403   403   -     -     404'],
  ['listNotificationDeliveries',      'webhook',      '200   200   200   200   200   200   200   403   403   403   -     -     404'],
  ['rotateNotificationWebhookSecret', 'webhook',      '200   200   403   403   403   200   403   403   403   403   -     -     404'],
  ['testNotificationWebhook',         'webhook',      '202   202   403   403   403   202   403   403   403   403   -     -     404'],
  ['listSecrets',                     'secret',       '200   200   403   403   403   200   403   403   403   403   -     -     403'],
  ['putSecret',                       'secret',       '200   200   403   403   403   200   403   403   403   403   -     -     403'],
  ['deleteSecret',                    'secret',       '204   204   403   403   403   204   403   403   403   403   -     -     403'],
  ['listWebhookSignatureSchemes',     'team',         '200   200   200   200   200   200   200   200   200   200   -     -     200'],
  ['listWebhooks',                    'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['createWebhook',                   'hook',         '201   201   403   403   403   201   403   404   404   404   -     -     404'],
  ['getWebhook',                      'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['updateWebhook',                   'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['rotateWebhookSecret',             'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['deleteWebhook',                   'hook',         '204   204   403   403   403   204   403   404   404   404   -     -     404'],
  ['listWebhookDeliveries',           'delivery',     '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['getWebhookDelivery',              'delivery',     '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['redeliverWebhookDelivery',        'delivery',     '202   202   403   403   403   202   403   404   404   404   -     -     404'],
  ['testWebhook',                     'hook',         '202   202   403   403   403   202   403   404   404   404   -     -     404'],
  ['listAutomations',                 'automation',   '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['createAutomation',                'automation',   '201   201   403   403   403   201   403   404   404   404   -     -     404'],
  ['getAutomation',                   'automation',   '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['replaceAutomation',               'automation',   '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['deleteAutomation',                'automation',   '204   204   403   403   403   204   403   404   404   404   -     -     404'],
  ['testAutomationTrigger',           'automation',   '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['testUnsavedTrigger',              'automation',   '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['applyFactoryDefinition',          'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['validateFactoryDefinition',       'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['exportFactoryDefinition',         'hook',         '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['getFactoryFileSchemas',           'team',         '200   200   200   200   200   200   200   200   200   200   -     -     200'],
  ['listFactoryFileSchemas',          'team',         '200   200   200   200   200   200   200   200   200   200   -     -     200'],
  ['getFactoryFileSchema',            'team',         '200   200   200   200   200   200   200   200   200   200   -     -     200'],
  ['validateFactoryFiles',            'team',         '200   200   200   200   200   200   200   200   200   200   -     -     200'],
  ['createScheduledAgent',            'team',         '201   201   201   403   201   201   403   403   201   403   201   -     403'],
  ['listScheduledAgents',             'schedule',     '200   200   200   200   200   200   200   403   none  403   200   none  403'],
  ['getScheduledAgent',               'schedule',     '200   200   200   200   200   200   200   403   403   403   200   403   404'],
  ['updateScheduledAgent',            'schedule',     '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['deleteScheduledAgent',            'schedule',     '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['pauseScheduledAgent',             'schedule',     '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['resumeScheduledAgent',            'schedule',     '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['runScheduledAgent',               'schedule',     '200   200   200   403   200   200   403   403   403   403   200   403   404'],
  ['listFactories',                   'factory',      '200   200   200   200   200   200   200   403   none  403   -     -     403'],
  ['getFactory',                      'factory',      '200   200   200   200   200   200   200   404   404   404   -     -     404'],
  ['createFactory',                   'team',         '201   201   403   403   403   201   403   403   403   403   -     -     403'],
  ['updateFactory',                   'factory',      '200   200   403   403   403   200   403   404   404   404   -     -     404'],
  ['deleteFactory',                   'factory',      '204   204   403   403   403   204   403   404   404   404   -     -     404'],
  ['dispatchFactoryRun',              'factory',      '200   200   200   403   200   200   403   404   404   404   -     -     404'],
];

/**
 * Personal runs with the default of PERSONAL_RUNS, by role. Those in an environment of the team need `runs:write` there:
 * `elsewh` may have personal runs, but is only a viewer of the team. A service account has no personal runs.
 */
const PERSONAL_COLUMNS = 'owner admin member viewer both elsewh other nobody'.split(' ');
// oxfmt-ignore
const PERSONAL_TABLE: readonly (readonly [operationId: string, environment: 'none' | 'own' | 'team', cells: string])[] = [
  //                                     owner admin membr viewr both  elsew other nobdy
  ['createRun',            'none',      '200   200   200   403   200   200   200   403'],
  ['createRun',            'own',       '200   200   200   403   200   200   200   403'],
  ['createRun',            'team',      '200   200   200   403   200   403   403   403'],
  ['runAgent',             'team',      '200   200   200   403   200   403   403   403'],
  ['registerExternalRun',  'none',      '200   200   200   403   200   200   200   403'],
  ['registerExternalRun',  'team',      '200   200   200   403   200   403   403   403'],
  ['createScheduledAgent', 'none',      '201   201   201   403   201   201   201   403'],
  ['createScheduledAgent', 'team',      '201   201   201   403   201   403   403   403'],
];

/** Operations of resources whose own tests have such a table, with the file. `npm run new:resource` adds to it. */
const OPERATIONS_ELSEWHERE: Readonly<Record<string, string>> = {
  getCurrentPrincipal: 'administration/access.e2e-spec.ts',
  listTeams: 'administration/access.e2e-spec.ts',
  createTeam: 'administration/access.e2e-spec.ts',
  getTeam: 'administration/access.e2e-spec.ts',
  updateTeam: 'administration/access.e2e-spec.ts',
  listUsers: 'administration/access.e2e-spec.ts',
  createUser: 'administration/access.e2e-spec.ts',
  getUser: 'administration/access.e2e-spec.ts',
  updateUser: 'administration/access.e2e-spec.ts',
  listMembers: 'administration/access.e2e-spec.ts',
  putMember: 'administration/access.e2e-spec.ts',
  deleteMember: 'administration/access.e2e-spec.ts',
  listServiceAccounts: 'administration/access.e2e-spec.ts',
  createServiceAccount: 'administration/access.e2e-spec.ts',
  deleteServiceAccount: 'administration/access.e2e-spec.ts',
  listTokens: 'administration/access.e2e-spec.ts',
  createToken: 'administration/access.e2e-spec.ts',
  revokeToken: 'administration/access.e2e-spec.ts',
  listAuditLog: 'administration/access.e2e-spec.ts',
  exportAuditLog: 'administration/access.e2e-spec.ts',
  listInvitations: 'administration/access.e2e-spec.ts',
  createInvitation: 'administration/access.e2e-spec.ts',
  revokeInvitation: 'administration/access.e2e-spec.ts',
  lookUpInvitation: 'administration/invitations.e2e-spec.ts',
  acceptInvitation: 'administration/invitations.e2e-spec.ts',
  createSession: 'administration/sessions.e2e-spec.ts',
  listSessions: 'administration/sessions.e2e-spec.ts',
  deleteCurrentSession: 'administration/sessions.e2e-spec.ts',
  deleteSession: 'administration/sessions.e2e-spec.ts',
  createLoginLink: 'administration/sessions.e2e-spec.ts',
  getSignInOptions: 'administration/openid.e2e-spec.ts',
  getDeviceAuthorization: 'administration/device-flow.e2e-spec.ts',
  decideDeviceAuthorization: 'administration/device-flow.e2e-spec.ts',
};

type Names = Readonly<Record<string, string>>;
type Owner = 'team' | 'mine';

const NOTHING: Names = {
  runId: UNKNOWN_RUN_ID,
  approvalId: UNKNOWN_RUN_ID,
  conversation_id: UNKNOWN_RUN_ID,
  session_id: 'no-session',
  artifactUid: UNKNOWN_UID,
  uid: UNKNOWN_UID,
  factoryUid: UNKNOWN_UID,
  webhookUid: UNKNOWN_UID,
  index: '0',
  deliveryId: UNKNOWN_RUN_ID,
  grantUid: UNKNOWN_UID,
  linkUid: UNKNOWN_UID,
  scheduleId: UNKNOWN_UID,
  url: 'https://tracker.example.com/nothing',
};

/** Path parameters that name no thing of a team. */
const FIXED: Names = { document: 'factory.schema.json' };

/** What of the target an answer shows to those who may see it. */
const SHOWN: Readonly<Record<string, string>> = {
  listRuns: 'runId',
  listApprovals: 'approvalId',
  getRunByExternalReferenceURL: 'runId',
  getConversationRedirect: 'session_id',
  getSessionRedirect: 'conversation_id',
  listEnvironments: 'uid',
  listAgentIdentities: 'uid',
  listMcpServers: 'uid',
  listNotificationWebhooks: 'uid',
  listSecrets: 'name',
  listWebhooks: 'uid',
  listAutomations: 'uid',
  listScheduledAgents: 'scheduleId',
  listFactories: 'uid',
};

let made = 0;
const newName = (): string => `thing-${(made += 1)}`;

const triggerOf = ({ webhookUid }: Names): object => ({
  provider: 'webhook',
  event: 'received',
  filter: { webhook_ids: [webhookUid] },
});
const automation = (names: Names): object => ({
  name: newName(),
  enabled: true,
  prompt: 'Go.',
  triggers: [triggerOf(names)],
});

const definition = (): object => ({
  files: [{ path: 'factory.yaml', content: `schemaVersion: v1alpha1\nname: ${newName()}\n` }],
});

const schedule = (): object => ({ name: newName(), cron_schedule: '0 3 * * *', prompt: 'Go.', enabled: true });

const BODIES: Readonly<Record<string, (owner: Owner, names: Names) => object>> = {
  createRun: (owner) => ({ prompt: 'Go.', ...(owner === 'mine' ? { team: false } : {}) }),
  runAgent: (owner) => ({ prompt: 'Go.', ...(owner === 'mine' ? { team: false } : {}) }),
  registerExternalRun: (owner) => ({ prompt: 'Go.', ...(owner === 'mine' ? { team: false } : {}) }),
  submitRunFollowup: () => ({ message: 'Continue.' }),
  registerExternalFollowup: () => ({ message: 'Continue.' }),
  submitConversationFollowup: () => ({ message: 'Continue.' }),
  prepareRunAttachments: () => ({ files: [{ filename: 'notes.md', mime_type: 'text/markdown' }] }),
  prepareConversationAttachments: () => ({ files: [{ filename: 'notes.md', mime_type: 'text/markdown' }] }),
  decideRunApproval: () => ({ decision: 'allow' }),
  createEnvironment: (owner) => ({ config: { name: newName() }, ...(owner === 'mine' ? { team: false } : {}) }),
  updateEnvironment: () => ({ config: { name: newName() } }),
  grantEnvironment: () => ({ user_uid: guest.uid }),
  redeemEnvironmentLink: (_owner, { token }) => ({ token: token ?? 'none' }),
  createAgentIdentity: () => ({ name: newName() }),
  updateAgentIdentity: () => ({ description: 'Changed.' }),
  createMcpServer: () => ({ name: newName(), command: 'serve' }),
  updateMcpServer: () => ({ name: newName(), command: 'serve' }),
  createNotificationWebhook: () => ({ name: newName(), url: 'https://hooks.example.com/runs' }),
  putSecret: () => ({ value: newName() }),
  createWebhook: () => ({ name: newName() }),
  createFactory: () => ({ name: newName() }),
  updateFactory: () => ({ name: newName() }),
  dispatchFactoryRun: () => ({ prompt: 'Go.' }),
  updateWebhook: () => ({ name: newName() }),
  createAutomation: (_owner, names) => automation(names),
  replaceAutomation: (_owner, names) => automation(names),
  createScheduledAgent: (owner) => ({ ...schedule(), ...(owner === 'mine' ? { team: false } : {}) }),
  updateScheduledAgent: schedule,
  applyFactoryDefinition: definition,
  validateFactoryDefinition: definition,
  validateFactoryFiles: definition,
  testAutomationTrigger: () => ({ payload: {} }),
  testUnsavedTrigger: (_owner, names) => ({ trigger: triggerOf(names), payload: {} }),
  updateNotificationWebhook: () => ({ name: newName() }),
};

/** One of the two teams, with everybody's relation to it. */
interface Side {
  readonly team: string;
  readonly otherTeam: string;
  readonly people: Readonly<Record<string, TestPrincipal>>;
  /** An ended run of each owner, with everything that can hang on one. */
  readonly runs: Readonly<Record<Owner, Names>>;
}

let api: TestApi;
let builder: RunBuilder;
let operations: ReadonlyMap<string, { readonly method: string; readonly path: string; readonly hasTeam: boolean }>;
let sides: readonly Side[];
/** Nobody's colleague, with whom environments are shared. */
let guest: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  builder = new RunBuilder(api.database, { objects: api.app.get(ObjectStore) });
  const { body } = await api.atOrigin(200, 'GET /openapi.json');
  operations = operationsOf(body as OpenAPIObject);
  const [one, two] = [await api.identities.team('One'), await api.identities.team('Two')];
  guest = await api.identities.user();
  sides = [await openSide(one, two), await openSide(two, one)];
});
afterAll(() => api.close());

function operationsOf(document: OpenAPIObject): typeof operations {
  return new Map(
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { operationId: string; parameters?: { name: string }[] }>).map(
        ([method, { operationId, parameters = [] }]) => [
          operationId,
          { method: method.toUpperCase(), path, hasTeam: parameters.some(({ name }) => /team-uid/i.test(name)) },
        ],
      ),
    ),
  );
}

async function openSide(team: string, otherTeam: string): Promise<Side> {
  const { identities } = api;
  const people = {
    owner: await identities.user({ [team]: 'owner' }),
    admin: await identities.user({ [team]: 'admin' }),
    member: await identities.user({ [team]: 'member' }),
    viewer: await identities.user({ [team]: 'viewer' }),
    bot: await identities.serviceAccount(team),
    both: await identities.user({ [team]: 'admin', [otherTeam]: 'admin' }),
    elsewh: await identities.user({ [team]: 'viewer', [otherTeam]: 'admin' }),
    other: await identities.user({ [otherTeam]: 'owner' }),
    othBot: await identities.serviceAccount(otherTeam),
    nobody: await identities.user(),
    mine: await identities.user({ [team]: 'member' }),
  };
  return {
    team,
    otherTeam,
    people: { ...people, colleag: people.owner, unknown: people.admin },
    runs: { team: await endedRun(people.member, team), mine: await endedRun(people.mine) },
  };
}

async function endedRun(by: TestPrincipal, team?: string): Promise<Names> {
  const built = await builder.build({
    by,
    ...(team === undefined ? {} : { team }),
    state: 'SUCCEEDED',
    config: { harness: { type: 'claude' } },
    transcript: 'raw\n',
    transcriptFormat: 'claude',
  });
  const artifacts = new ArtifactBuilder(api.database, { objects: api.app.get(ObjectStore) });
  const url = `https://tracker.example.com/${built.id}`;
  await artifacts.build(built.id, { type: 'EXTERNAL_REFERENCE', url });
  return {
    runId: built.id,
    conversation_id: built.conversationId ?? '',
    session_id: `session-${built.id}`,
    artifactUid: (await artifacts.build(built.id, { type: 'FILE' })).uid,
    url,
  };
}

/** Runs are shared by those who only read; everything else is created, because an operation may delete it. */
async function find({ team, people, runs }: Side, target: Target, owner: Owner): Promise<Names> {
  const shape = owner === 'mine' ? { by: principal(people, 'mine') } : { by: principal(people, 'member'), team };
  switch (target) {
    case 'run':
      return runs[owner];
    case 'queued run':
      return { runId: (await builder.build(shape)).id };
    case 'ended run': {
      const { id, conversationId } = await builder.build({ ...shape, state: 'SUCCEEDED' });
      return { runId: id, conversation_id: conversationId ?? '' };
    }
    case 'question': {
      const { id, approvalIds, conversationId } = await builder.build({ ...shape, state: 'BLOCKED' });
      return { runId: id, approvalId: approvalIds[0] ?? '', conversation_id: conversationId ?? '' };
    }
    case 'environment':
      return create(principal(people, owner === 'mine' ? 'mine' : 'admin'), 'createEnvironment', owner);
    case 'shared': {
      const by = principal(people, owner === 'mine' ? 'mine' : 'admin');
      const { uid } = await create(by, 'createEnvironment', owner);
      const post = async (path: string, body: object) =>
        (await api.request(201, `POST /environments/${uid}/${path}`, { token: by.token, body })).body;
      const link = await post('links', {});
      const { uid: grantUid } = await post('grants', { user_uid: guest.uid });
      return { uid: uid ?? '', grantUid, linkUid: link.uid, token: link.token };
    }
    case 'identity':
      return create(principal(people, 'admin'), 'createAgentIdentity', owner);
    case 'server':
      return create(principal(people, 'admin'), 'createMcpServer', owner);
    case 'webhook':
      // A team may have 20.
      await api.database.query('DELETE FROM notification_webhooks WHERE team_uid = $1', [team]);
      return create(principal(people, 'admin'), 'createNotificationWebhook', owner);
    case 'secret': {
      const name = newName();
      const { token } = principal(people, 'admin');
      await api.request(200, `PUT /secrets/${name}`, { token, headers: inTeam(team), body: { value: name } });
      return { name };
    }
    case 'factory':
      return { uid: await newFactory(team) };
    case 'hook':
    case 'delivery': {
      const factoryUid = await newFactory(team);
      const { id, uid } = await new WebhookBuilder(api.database, api.settings).webhook({ factoryUid });
      return { factoryUid, uid, deliveryId: (await new DeliveryBuilder(api.database).build(id)).id };
    }
    case 'automation': {
      const factoryUid = await newFactory(team);
      const { uid: webhookUid } = await new WebhookBuilder(api.database, api.settings).webhook({ factoryUid });
      const { token } = principal(people, 'admin');
      const names = { factoryUid, webhookUid, index: '0' };
      const { body } = await api.request(201, `POST /factories/${factoryUid}/automations`, {
        token,
        body: automation(names),
      });
      return { ...names, uid: body.uid };
    }
    case 'schedule': {
      const { uid } = await create(
        principal(people, owner === 'mine' ? 'mine' : 'member'),
        'createScheduledAgent',
        owner,
      );
      return { scheduleId: uid ?? '' };
    }
    case 'team':
      return {};
  }
}

const newFactory = (teamUid: string): Promise<string> =>
  new FactoryBuilder(api.database).build({ teamUid, name: newName() });

async function create({ token }: TestPrincipal, operationId: string, owner: Owner): Promise<Names> {
  const { method, path } = operation(operationId);
  const { body } = await api.request(201, `${method} ${path}`, { token, body: BODIES[operationId]?.(owner, NOTHING) });
  return { uid: (body.uid ?? body.id) as string };
}

function principal(people: Side['people'], name: string): TestPrincipal {
  const found = people[name];
  if (!found) throw new Error(`There is nobody called ${name}.`);
  return found;
}

function operation(id: string) {
  const found = operations.get(id);
  if (!found) throw new Error(`The document has no operation ${id}.`);
  return found;
}

function headersOf({ team, otherTeam }: Side, column: string, hasTeam: boolean): Record<string, string> {
  if (!hasTeam) return column === 'elsewh' ? inTeam(otherTeam) : {};
  if (column === 'mine' || column === 'colleag') return {};
  return inTeam(column === 'unknown' ? UNKNOWN_UID : team);
}

const ownerOf = (column: string): Owner => (column === 'mine' || column === 'colleag' ? 'mine' : 'team');

/** The response to each column. A request that was rejected, or only reads, leaves its target for the next column. */
async function askAll(side: Side, operationId: string, target: Target, columns: readonly string[]) {
  const { method, hasTeam } = operation(operationId);
  const found: { team?: Names; mine?: Names } = {};
  const answers: Record<string, string> = {};
  for (const column of columns) {
    const owner = ownerOf(column);
    const isUnknown = column === 'unknown' && !hasTeam;
    const names = isUnknown ? NOTHING : (found[owner] ??= await find(side, target, owner));
    const answer = await ask(side, operationId, names, column);
    if (method !== 'GET' && Number(answer) < 400) delete found[owner];
    answers[column] = answer;
  }
  return answers;
}

async function ask(side: Side, operationId: string, names: Names, column: string): Promise<string> {
  const { method, path, hasTeam } = operation(operationId);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => names[name] ?? FIXED[name] ?? `no-${name}`);
  const query = new URLSearchParams({
    ...(operationId === 'listRuns' || operationId === 'listFactories' ? { limit: '500' } : {}),
    ...(operationId === 'getRunByExternalReferenceURL' ? { url: names.url ?? '' } : {}),
  });
  const body = BODIES[operationId]?.(ownerOf(column), names);
  const response = await fetch(`${api.url}/api/v1${filled}?${query.toString()}`, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${principal(side.people, column).token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headersOf(side, column, hasTeam),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  noteExchange(method, filled, response.status);
  // Answers depend on the token, so nothing between may keep one.
  if (response.headers.get('cache-control') !== 'no-store') return `${response.status}, may be cached`;
  const shown = SHOWN[operationId];
  const isHidden = response.status === 200 && shown !== undefined && !text.includes(names[shown] ?? '');
  return isHidden ? 'none' : String(response.status);
}

/** Both teams in the long tests; otherwise one, so that half of the rows asks for each. */
const sidesOf = (row: number): readonly Side[] => (isLong ? sides : sides.slice(row % 2, (row % 2) + 1));
const numbered = TABLE.map(([operationId, target, cells], row) => ({ operationId, target, cells, row }));

describe('the table of permissions', () => {
  it.each(numbered)('$operationId responds to each principal with its status', async (cell) => {
    const { operationId, target, cells, row } = cell;
    const statuses = cells.split(/ +/);
    expect(statuses).toHaveLength(COLUMNS.length);
    const expected = Object.fromEntries(
      COLUMNS.map((column, index) => [column, statuses[index]]).filter(([, status]) => status !== '-'),
    ) as Record<string, string>;
    for (const side of sidesOf(row)) {
      const answers = await askAll(side, operationId, target, Object.keys(expected));
      expect(answers).toEqual(expected);
    }
  });

  it.each(PERSONAL_TABLE)('%s of a personal resource, environment: %s', async (operationId, environment, cells) => {
    const { method, path } = operation(operationId);
    for (const side of sides) {
      const { uid: ofTeam } = await find(side, 'environment', 'team');
      const answers: string[] = [];
      for (const column of PERSONAL_COLUMNS) {
        const { token } = principal(side.people, column);
        const own = { config: { name: newName() }, team: false };
        const uid =
          environment === 'own'
            ? ((await api.request(201, 'POST /environments', { token, body: own })).body.uid as string)
            : ofTeam;
        const config = environment === 'none' ? {} : { environment_id: uid };
        const body = {
          ...BODIES[operationId]?.('mine', NOTHING),
          [operationId === 'createScheduledAgent' ? 'agent_config' : 'config']: config,
        };
        const response = await fetch(`${api.url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        await response.body?.cancel();
        answers.push(String(response.status));
      }
      expect(answers).toEqual(cells.split(/ +/));
    }
  });

  it('has one row for every operation of openapi.json', () => {
    const listed = [...TABLE.map(([operationId]) => operationId), ...Object.keys(OPERATIONS_ELSEWHERE)];
    expect(listed.sort()).toEqual([...operations.keys()].sort());
  });
});
