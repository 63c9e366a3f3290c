type Names = Readonly<Record<string, string>>;
const PAGES: readonly (readonly [pattern: RegExp, page: (names: Names) => string])[] = [
  [
    /\/api\/v1\/factories\/(?<factory>\w+)\/webhooks\/(?<uid>\w+)\/deliveries\/(?<delivery>[\w-]+)$/,
    ({ factory, uid, delivery }) => `webhooks/${uid}?factory=${factory}&delivery=${delivery}`,
  ],
  [
    /\/api\/v1\/factories\/(?<factory>\w+)\/automations\/(?<uid>\w+)$/,
    ({ factory, uid }) => `automations/${uid}?factory=${factory}`,
  ],
  [/\/api\/v1\/agent\/schedules\/(?<uid>[\w-]+)$/, ({ uid }) => `schedules/${uid}`],
];

/**
 * For people: the page of the console for what the API names, which only a token can read. The public URL may have been another one
 * when the run was created. Other addresses are pages already. Null: there is no page.
 */
export function pageOfTrigger(triggerUrl: string, publicUrl: string): string | null {
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(triggerUrl);
    if (found) return `${publicUrl}/console/${page(found.groups ?? {})}`;
  }
  return triggerUrl.startsWith(`${publicUrl}/api/v1/`) ? null : triggerUrl;
}
