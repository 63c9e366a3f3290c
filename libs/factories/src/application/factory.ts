/** What automations, webhooks and their definition files belong to. Owned by one team. */
export interface Factory {
  readonly uid: string;
  readonly teamUid: string;
  readonly name: string;
  readonly description: string;
  readonly alias: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
