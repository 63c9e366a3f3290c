import { z } from 'zod';

const absolutePath = z.string().startsWith('/');
const textMap = z.record(z.string(), z.string());
const metadata = z.record(z.string(), z.unknown());

/**
 * How an agent is started. Arguments and values of `env` may contain `{home}`, `{model}` and `{reasoning_level}`; an
 * argument or variable with a placeholder that the run does not define is left out.
 */
export const harnessDefinitionSchema = z.object({
  command: z.string().min(1),
  args: z.array(z.string()),
  env: textMap.optional(),
  install_hint: z.string(),
  /** The variable in which the agent expects the secret that `harness_auth_secrets` of a run names. */
  auth_variable: z.string().optional(),
  /** The agent's authentication method that is selected when the agent requires authentication. */
  auth_method: z.string().optional(),
  /** Managed secrets of the run's team that the agent receives where they exist: name by variable. */
  secrets: textMap.optional(),
  /**
   * Path of the vendor's transcript, below `{home}`. Placeholders: `{session_id}`, `{session_id_8}` (its first 8
   * characters), `{cwd_slug}` (the working directory, each character except letters and digits replaced by `-`), and the
   * UTC time at which the session began: `{year}`, `{month}`, `{day}`, `{timestamp}` (2026-11-21T04-57-19). For Gemini:
   * `{cwd_name}` (the name of the working directory) and `{day_before}` (the minute a day earlier, 2026-11-20T04-57).
   * A segment may have one `*` where the agent chooses; such a transcript is uploaded, but never restored.
   */
  transcript_path: z.string().optional(),
  /** The field of each transcript line with the working directory, for agents that load a session only in its directory. */
  transcript_cwd_field: z.string().optional(),
  /** Below {home}: what the agent keeps about its sessions, with paths of the workspace that are not valid in another one. */
  state_paths: z.array(z.string()).optional(),
  /** What token counts in a prompt response cover: that turn alone (the default), or the whole session so far. */
  usage_scope: z.enum(['turn', 'session']).optional(),
  /**
   * Session modes of the agent by permission policy. `ask`: the mode in which the agent requests permission before it
   * acts, for the policies `ask`, `deny` and `allow_list`; a run fails when its agent does not offer this mode. `allow`:
   * the mode for the policy `allow`, where the agent offers it; default: the agent's default mode.
   */
  permission_modes: z.object({ ask: z.string(), allow: z.string() }).partial().optional(),
  /** Variables that make the agent request permission before it acts. Set last, for every policy except `allow`. */
  permission_env: textMap.optional(),
  /** Replaces fields of `session_meta` so that the agent requests permission, for every policy except `allow`. */
  permission_session_meta: metadata.optional(),
  /** `_meta` of the client capabilities: protocol extensions that the agent enables on request. */
  client_meta: metadata.optional(),
  /** `_meta` of `session/new`, `session/load` and `session/resume`. */
  session_meta: metadata.optional(),
});
export type HarnessDefinition = z.infer<typeof harnessDefinitionSchema>;

const runnerLimits = z.object({
  /** Size of the workspace in bytes; measured periodically. */
  max_workspace_bytes: z.int().positive(),
  /** Bytes of events of one execution; the rest is dropped and reported with an `output_truncated` event. */
  max_output_bytes: z.int().positive(),
  setup_command_timeout_seconds: z.number().positive(),
  /** Seconds between the steps of a graceful stop: session/cancel, SIGTERM, SIGKILL. */
  cancel_step_seconds: z.number().positive(),
  /** Bytes of one artifact; default {@link MAX_ARTIFACT_BYTES}. */
  max_artifact_bytes: z.int().positive().optional(),
  /** Seconds without progress of the agent after which its turn fails; default 1800. */
  agent_progress_timeout_seconds: z.number().positive().optional(),
});
export type RunnerLimits = z.infer<typeof runnerLimits>;

const gitHandover = z.object({
  /** Bare mirrors, shared by the executions of a machine; not accessible to the agent's user. Default: a temporary directory. */
  mirrors_dir: absolutePath.optional(),
  /** Directories whose repositories may be cloned by path. Default: none. */
  local_roots: z.array(absolutePath).optional(),
  /**
   * Hosts from which repositories may be fetched. Default: all. `allow_private`: addresses and CIDR ranges that are
   * allowed although they are not public. `trusted_urls`: URLs whose protocol, host and port are always allowed.
   */
  hosts: z.object({ allow_private: z.array(z.string()), trusted_urls: z.array(z.string()) }).optional(),
  clone_timeout_seconds: z.number().positive(),
  max_repository_bytes: z.int().positive(),
  /** Bytes of all mirrors in `mirrors_dir`; default 20 GiB. */
  max_mirrors_bytes: z.int().positive().optional(),
});
export type GitHandover = z.infer<typeof gitHandover>;

/**
 * The execution works on existing directories: `work_dir`, where commands and the agent start, and `home_dir`, their HOME
 * (default: a new one). Both are left as they are; everything else is in `workspace_dir`. Repositories are not cloned.
 * `has_snapshots`: the snapshot of the run is restored into `work_dir`, and new ones of it are stored.
 */
const inPlace = z.object({
  work_dir: absolutePath,
  home_dir: absolutePath.optional(),
  has_snapshots: z.boolean().optional(),
});
export type InPlace = z.infer<typeof inPlace>;

/** What the launcher of a runner writes as one JSON line to its standard input; never in arguments or environment. */
export const runnerHandoverSchema = z.object({
  base_url: z.url({ protocol: /^https?$/ }),
  execution_id: z.string().min(1),
  token: z.string().min(1),
  /** A directory for this execution alone; the runner removes it at the end. */
  workspace_dir: absolutePath,
  /** Marks every process of this execution in its environment, as HEADRACE_EXECUTION_MARKER. */
  marker: z.string().regex(/^[A-Za-z0-9_-]{8,200}$/),
  /** Numeric user and group for set-up commands and agent, when the runner itself runs as root. */
  run_as: z.object({ uid: z.int().min(1), gid: z.int().min(1) }).optional(),
  /** Variables of the host, such as those of a container image; environment and harness take precedence. */
  place_env: textMap.optional(),
  limits: runnerLimits,
  /** How long the claim is retried while the server does not respond: shorter than the offer is valid. Default: 60 s. */
  claim_seconds: z.number().positive().optional(),
  /** Minimum number of heartbeats per lease, for a runner on an unreliable network. Default: as the server requests. */
  beats_per_lease: z.int().min(1).max(100).optional(),
  /** How repositories are cloned; default: the defaults of `GitHandover`. */
  git: gitHandover.optional(),
  /** Additional harnesses by id; the built-in one (`oz`) is always available. */
  harnesses: z.record(z.string(), harnessDefinitionSchema).optional(),
  in_place: inPlace.optional(),
});
export type RunnerHandover = z.infer<typeof runnerHandoverSchema>;
