/** Settings of a team for its runs, loaded with every membership, so that a request needs no further query. */
export interface TeamSettings {
  /** For runs that name no model; null: the agent's own default. */
  readonly defaultModelId: string | null;
  /** For runs that name no worker host; null: hosted workers. */
  readonly defaultWorkerHost: string | null;
  readonly features: TeamFeatures;
}

/** Features that can be disabled for a team; a disabled feature answers 403 `feature_not_available`. */
export interface TeamFeatures {
  readonly metadata_filter: boolean;
  readonly schedules: boolean;
}

/** The settings of a new team. */
export const INITIAL_TEAM_SETTINGS: TeamSettings = {
  defaultModelId: null,
  defaultWorkerHost: null,
  features: { metadata_filter: true, schedules: true },
};
