/** What a team sets for its runs; comes with every membership, so that no request asks for it again. */
export interface TeamSettings {
  /** For runs that name no model; null: the agent's own default. */
  readonly defaultModelId: string | null;
  /** For runs that name no worker host; null: hosted workers. */
  readonly defaultWorkerHost: string | null;
  readonly features: TeamFeatures;
}

/** What can be switched off for a team; a switched off feature answers 403 `feature_not_available`. */
export interface TeamFeatures {
  readonly metadata_filter: boolean;
  readonly schedules: boolean;
}

/** Of a team that has set nothing. */
export const INITIAL_TEAM_SETTINGS: TeamSettings = {
  defaultModelId: null,
  defaultWorkerHost: null,
  features: { metadata_filter: true, schedules: true },
};
