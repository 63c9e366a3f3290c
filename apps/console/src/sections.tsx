import type { ComponentType } from 'preact';
import { loaded } from './components/loaded';
import { RunsPage } from './views/runs/runs-page';

export interface Section {
  /** The first part of the path, `runs` in `runs/123`. */
  readonly path: string;
  readonly title: string;
  readonly list: ComponentType;
  /** The page of one resource, `runs/123`. */
  readonly item?: ComponentType<{ readonly id: string }>;
  /** A page that other programs link; the navigation does not have it. */
  readonly isUnlisted?: boolean;
}

/** The views of the console in the order of the navigation. What is not needed at once is a separate script. */
export const SECTIONS: readonly Section[] = [
  {
    path: 'runs',
    title: 'Runs',
    list: RunsPage,
    item: loaded(async () => (await import('./views/run/run-page')).RunPage),
  },
  { path: 'inbox', title: 'Inbox', list: loaded(async () => (await import('./views/inbox/inbox-page')).InboxPage) },
  {
    path: 'schedules',
    title: 'Schedules',
    list: loaded(async () => (await import('./views/schedules/schedules-page')).SchedulesPage),
    item: loaded(async () => (await import('./views/schedules/schedule-page')).SchedulePage),
  },
  {
    path: 'webhooks',
    title: 'Webhooks',
    list: loaded(async () => (await import('./views/webhooks/webhooks-page')).WebhooksPage),
    item: loaded(async () => (await import('./views/webhooks/webhook-page')).WebhookPage),
  },
  {
    path: 'automations',
    title: 'Automations',
    list: loaded(async () => (await import('./views/automations/automations-page')).AutomationsPage),
    item: loaded(async () => (await import('./views/automations/automation-page')).AutomationPage),
  },
  {
    path: 'environments',
    title: 'Environments',
    list: loaded(async () => (await import('./views/environments/environments-page')).EnvironmentsPage),
    item: loaded(async () => (await import('./views/environments/environment-page')).EnvironmentPage),
  },
  {
    path: 'agents',
    title: 'Agents',
    list: loaded(async () => (await import('./views/agents/agents-page')).AgentsPage),
  },
  {
    path: 'secrets',
    title: 'Secrets',
    list: loaded(async () => (await import('./views/secrets/secrets-page')).SecretsPage),
  },
  {
    path: 'workers',
    title: 'Workers',
    list: loaded(async () => (await import('./views/workers/workers-page')).WorkersPage),
  },
  { path: 'team', title: 'Team', list: loaded(async () => (await import('./views/team/team-page')).TeamPage) },
  {
    path: 'status',
    title: 'Status',
    list: loaded(async () => (await import('./views/status/status-page')).StatusPage),
  },
  {
    path: 'device',
    title: 'Approve a login',
    list: loaded(async () => (await import('./views/device/device-page')).DevicePage),
    isUnlisted: true,
  },
];

/** For people who are not signed in, too. */
export const InvitationPage = loaded(async () => (await import('./views/invitation/invitation-page')).InvitationPage);
export const SignInPage = loaded(async () => (await import('./views/sign-in')).SignInPage);
