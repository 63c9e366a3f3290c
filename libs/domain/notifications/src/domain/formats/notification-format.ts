/** What the receiver of a webhook expects: our JSON, or a message of a chat service. */
export const NOTIFICATION_FORMATS = ['json', 'slack', 'discord', 'teams'] as const;
export type NotificationFormat = (typeof NOTIFICATION_FORMATS)[number];

const OF_HOSTS: readonly (readonly [hosts: RegExp, format: NotificationFormat])[] = [
  [/^hooks\.slack(-gov)?\.com$/, 'slack'],
  [/^((ptb|canary)\.)?discord(app)?\.com$/, 'discord'],
  [/\.(webhook\.office|logic\.azure|api\.powerplatform)\.com$/, 'teams'],
];

/** The format that the service at this URL accepts; `json` for an unknown host. */
export function formatOf(url: string): NotificationFormat {
  const { hostname, pathname } = new URL(url);
  const found = OF_HOSTS.find(([hosts]) => hosts.test(hostname))?.[1] ?? 'json';
  // There Discord expects the messages of another service, whose texts have other rules.
  return found === 'discord' && /\/(slack|github)$/.test(pathname) ? 'json' : found;
}
