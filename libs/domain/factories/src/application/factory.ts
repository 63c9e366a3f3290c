/** What of a factory can be set. */
export interface FactoryFields {
  readonly name: string;
  /** Empty: none. */
  readonly description: string;
  /** A short name that no other factory of the team has. */
  readonly alias: string | null;
}

/** What automations, webhooks and their definition files belong to. Owned by one team. */
export interface Factory extends FactoryFields {
  readonly uid: string;
  readonly teamUid: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
