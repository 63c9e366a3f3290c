/** A kind of triggers, as far as files are concerned: what `TriggerProviders` knows of it. */
export interface KnownTrigger {
  readonly provider: string;
  readonly event: string;
  /** JSON Schema (2020-12) of the fields beside `provider` and `event`. */
  readonly schema: { readonly properties: Readonly<Record<string, object>>; readonly required: readonly string[] };
}

/** Any of these triggers; which one is decided by provider and event, so that only what belongs to it is complained about. */
export function triggerSchema(known: readonly KnownTrigger[]): object {
  const providers = [...new Set(known.map(({ provider }) => provider))];
  return {
    type: 'object',
    title: 'Trigger',
    description: 'One kind of event that starts the automation.',
    properties: {
      provider: { ...oneOf(providers), description: 'Where events come from.' },
      event: { type: 'string', description: 'What happens there.' },
    },
    required: ['provider', 'event'],
    ...(known.length > 0 && {
      allOf: [...providers.map((provider) => eventsOf(provider, known)), ...known.map(fieldsOf)],
    }),
  };
}

const oneOf = (values: readonly string[]): object =>
  values.length === 0 ? { type: 'string' } : { type: 'string', enum: values };

const eventsOf = (provider: string, known: readonly KnownTrigger[]): object => ({
  if: { properties: { provider: { const: provider } }, required: ['provider'] },
  then: { properties: { event: oneOf(known.filter((one) => one.provider === provider).map(({ event }) => event)) } },
});

const fieldsOf = ({ provider, event, schema: { properties, required } }: KnownTrigger): object => ({
  if: { properties: { provider: { const: provider }, event: { const: event } }, required: ['provider', 'event'] },
  then: { properties: { provider: true, event: true, ...properties }, required, additionalProperties: false },
});
