import type { Schemas } from '../../api/client';

export type Webhook = Schemas['WebhookItem'];
type CreateWebhook = Schemas['CreateWebhookRequest'];

/**
 * Where the secret of a signature comes from. `chosen`: the user enters the same secret at both sides. `generated`: Headrace
 * generates it. `sender`: the sender displays it, some after they have the URL. `handshake`: the sender transmits it.
 */
type SecretSource = 'chosen' | 'generated' | 'sender' | 'handshake';

const SOURCES: Readonly<Record<string, SecretSource>> = {
  bitbucket: 'chosen',
  circleci: 'chosen',
  figma: 'chosen',
  github: 'chosen',
  gitlab_token: 'chosen',
  grafana: 'chosen',
  grafana_timestamped: 'chosen',
  jira: 'chosen',
  netlify: 'chosen',
  terraform_cloud: 'chosen',
  typeform: 'chosen',
  standard_webhooks: 'generated',
  asana: 'handshake',
  notion: 'handshake',
};
export const secretSource = (scheme: string): SecretSource => SOURCES[scheme] ?? 'sender';

/** The first ones of the list. */
export const POPULAR = ['github', 'gitlab_token', 'stripe', 'slack', 'linear', 'sentry', 'standard_webhooks'];

/** Text, of which every line is one step. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  github: [
    'In the repository or organisation, open Settings, Webhooks, and select Add webhook.',
    'Enter the address as Payload URL and the secret as Secret.',
    'Select the content type application/json. A form is answered with 400.',
    'Select the events and save. The ping of GitHub appears below as an accepted delivery.',
  ],
  gitlab_token: [
    'In the project or group, open Settings, Webhooks, and select Add new webhook.',
    'Enter the address as URL and the secret as Secret token.',
    'Select the triggers, save, and select Test to send a delivery.',
  ],
  bitbucket: [
    'In the repository, open Repository settings, Webhooks, and select Add webhook.',
    'Enter the address as URL and the secret as Secret. Without a secret, Bitbucket signs nothing.',
  ],
  stripe: [
    'In the dashboard, under Webhooks, add an endpoint with the address and select its events.',
    'Display the signing secret of the endpoint (whsec_…).',
    'Select Set secret on this page and enter it. Until then the webhook is disabled.',
  ],
  slack: [
    'In the app, copy the Signing Secret from Basic Information, and set it as the secret of this webhook.',
    'Under Event Subscriptions, enable events and enter the address as Request URL. Slack checks it at once.',
    'For buttons, enter the same address under Interactivity & Shortcuts. Slash commands are answered with 400.',
  ],
  linear: [
    'In the workspace, open Settings, API, and create a webhook with the address.',
    'Copy its signing secret (lin_wh_…), and set it as the secret of this webhook.',
  ],
  sentry: [
    'Create an internal integration with the address as Webhook URL, and select its resources.',
    'Copy its client secret, and set it as the secret of this webhook.',
  ],
  standard_webhooks: [
    'Enter the address and the secret at the sender. Any library of Standard Webhooks can sign with this secret.',
    'If the sender generates the secret itself, select Rotate secret and enter the secret of the sender.',
  ],
};

const BY_SOURCE: Readonly<Record<SecretSource, readonly string[]>> = {
  chosen: ['At the sender, create a webhook with the address.', 'Enter the same secret there, and select its events.'],
  generated: ['Enter the address and the secret at the sender.'],
  sender: [
    'At the sender, create a webhook with the address, and select its events.',
    'Copy the signing secret that the sender displays, and set it as the secret of this webhook. Until then it is disabled.',
  ],
  handshake: [
    'At the sender, create a webhook with the address. The sender makes a handshake, which contains its secret.',
    'Open this page again, check the secret, and confirm it. Until then other requests are answered with 404.',
  ],
};

export function stepsOf({ auth_mode: mode, signature_scheme: scheme = '' }: Webhook): readonly string[] {
  if (mode === 'token')
    return [
      'Let the sender post JSON to the address with the header Authorization: Bearer, followed by the secret.',
      'A header X-Headrace-Delivery-Id with an id of the event makes a retry start nothing twice.',
    ];
  if (mode === 'url_token')
    return [
      'Let the sender post JSON to the address. It contains the secret: treat the address like a password.',
      'Enter the complete address. No header is needed.',
    ];
  return STEPS[scheme] ?? BY_SOURCE[secretSource(scheme)];
}

/** As the sender would send it. The secret is known only after it was created. */
export function curlOf({ auth_mode: mode, ingress_url: url, secret }: Webhook): string | null {
  if (mode === 'signature') return null;
  const header = mode === 'token' ? ` \\\n  -H "Authorization: Bearer ${secret ?? '$SECRET'}"` : '';
  return `curl -sS "${url}"${header} \\\n  -d '{"service": "shop", "state": "deployed"}'`;
}

export const DEFAULT_PROVIDER = 'token';

/** The mode and scheme of a choice of the form: `token`, `url_token`, or the id of a signature scheme. */
export const authOf = (provider: string): Pick<CreateWebhook, 'auth_mode' | 'signature_scheme'> =>
  provider === 'token' || provider === 'url_token'
    ? { auth_mode: provider }
    : { auth_mode: 'signature', signature_scheme: provider };

export function newSecret(): string {
  const random = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

interface State {
  readonly look: 'good' | 'wait' | 'off';
  readonly label: string;
  /** Why it accepts nothing. */
  readonly reason?: string;
}

export function stateOf(webhook: Webhook): State {
  if (webhook.secret_pending === true)
    return {
      look: 'wait',
      label: 'Waiting',
      reason: 'It waits for the handshake of the sender, or for the confirmation of its secret.',
    };
  if (webhook.secret_missing === true)
    return { look: 'wait', label: 'Disabled', reason: 'It needs the secret of the sender.' };
  return webhook.enabled
    ? { look: 'good', label: 'Enabled' }
    : { look: 'off', label: 'Disabled', reason: 'It was disabled by a user. Senders get 404.' };
}
