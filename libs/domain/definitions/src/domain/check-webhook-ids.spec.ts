import { describe, expect, it } from 'vitest';
import { checkWebhookIds } from './check-webhook-ids.js';
import { readDefinition } from './reading/read-definition.js';

const [UID, OTHER] = ['A'.repeat(22), 'B'.repeat(22)];
const KNOWN = {
  triggers: [
    {
      provider: 'webhook',
      event: 'received',
      schema: { properties: { filter: { type: 'object' } }, required: ['filter'] },
    },
  ],
};

function check(ids: string, uids: Readonly<Record<string, string>>) {
  const read = readDefinition(
    [
      { path: 'factory.yaml', content: 'schemaVersion: v1alpha1\nname: F\n' },
      { path: 'webhooks/ci.yaml', content: 'secretName: s\n' },
      { path: `webhooks/${'a'.repeat(22)}.yaml`, content: 'secretName: s\n' },
      {
        path: 'automations/fix/automation.md',
        content: `---\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids: ${ids}\n---\nFix.\n`,
      },
    ],
    KNOWN,
  );
  if (read.kind === 'invalid') throw new Error(JSON.stringify(read.diagnostics));
  return checkWebhookIds(read.definition, read.places, new Map(Object.entries(uids)));
}

describe('checkWebhookIds', () => {
  const AT = { code: 'webhook_name_instead_of_uid', path: 'automations/fix/automation.md', line: 6, column: 21 };

  it.each(['[ci]', '[webhooks/ci.yaml]', '[ci.yaml]'])('shows the UID where %s calls a webhook by its name', (ids) => {
    const found = check(ids, { ci: UID });
    expect(found).toEqual([{ ...AT, message: expect.stringContaining(UID) as string }]);
  });

  it('says that the UID comes when the webhook is applied', () => {
    expect(check('[ci]', {})).toEqual([{ ...AT, message: expect.stringContaining('apply the webhooks') as string }]);
    expect(check(`[${'a'.repeat(22)}]`, {})).toMatchObject([AT]);
  });

  it('shows the UID of a webhook that is no part of the definition', () => {
    expect(check('[mine]', { mine: OTHER })).toEqual([{ ...AT, message: expect.stringContaining(OTHER) as string }]);
  });

  it.each(['[who]', `[${UID}]`, '[]', '[1]', '{}', 'null'])('says nothing about %s, which names no webhook', (ids) => {
    expect(check(ids, { ci: UID })).toEqual([]);
  });

  it('takes a UID for one, even where a webhook is called like it', () => {
    expect(check(`[${'a'.repeat(22)}]`, { other: 'a'.repeat(22) })).toEqual([]);
  });
});
