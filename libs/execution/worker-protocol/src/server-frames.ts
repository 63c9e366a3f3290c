/** A run is offered to this connection. Repeating one that is known changes nothing. */
export interface TaskAssignment {
  type: 'task_assignment';
  data: TaskAssignmentData;
}

export interface TaskAssignmentData {
  /** Id of the run. */
  task_id: string;
  /** Decimal. */
  execution_id: string;
  task: WorkerTask;
  docker_image?: string;
  sidecar_image?: string;
  env_vars?: Record<string, string>;
  additional_sidecars?: { image: string; mount_path: string; read_write: boolean }[];
  additional_oz_args?: string[];
  instance_shape?: { vcpus?: number; memory_gb?: number };
}

export interface WorkerTask {
  id: string;
  title: string;
  task_definition: { prompt: string };
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
  /** AmbientAgentConfig as the API shows it. */
  agent_config_snapshot?: Record<string, unknown>;
  agent_conversation_id?: string;
}

/** The run is to be stopped. */
export interface TaskCancellation {
  type: 'task_cancellation';
  data: { task_id: string };
}

/** Extension: answer to a worker's hello. */
export interface HelloAnswer {
  type: 'hello';
  data: {
    features: string[];
    /** Seconds for which the leases of this connection live without a sign of life. */
    ttl_seconds: number;
    /** Seconds after which the next beat is expected, before the worker's own jitter. */
    next_beat_seconds: number;
    tasks: { task_id: string; execution_id: string; verdict: Verdict }[];
  };
}

/** `unknown`: the server knows no such execution; what it left behind may be removed. */
export type Verdict = 'keep' | 'stop' | 'unknown';

/** Extension: answer to a worker's beat. */
export interface BeatAnswer {
  type: 'beat';
  data: {
    ttl_seconds: number;
    next_beat_seconds: number;
    tasks: { task_id: string; execution_id: string; desired: Desired }[];
  };
}

/** `stop`: politely. `kill`: at once. `lost`: the execution is no longer this worker's; kill it and upload nothing. */
export type Desired = 'run' | 'stop' | 'kill' | 'lost';

export type ServerFrame = TaskAssignment | TaskCancellation | HelloAnswer | BeatAnswer;
