/** The worker starts the task. */
export interface TaskClaimed {
  type: 'task_claimed';
  data: { task_id: string; worker_id: string };
}

/** No room for it: the run goes back to the queue and has not failed. */
export interface TaskRejected {
  type: 'task_rejected';
  data: { task_id: string; reason: string };
}

export interface TaskCompleted {
  type: 'task_completed';
  data: { task_id: string; message: string; /** `CANCELLED`, or absent. */ task_state?: string };
}

export interface TaskFailed {
  type: 'task_failed';
  data: {
    task_id: string;
    message: string;
    task_state?: string;
    failure_reason?: string;
    /** 128 + signal for a killed process. */
    exit_code?: number;
  };
}

/** A sign of life, and nothing else. */
export interface Heartbeat {
  type: 'heartbeat';
}

/** What runs on a worker, told by itself. */
export interface TaskRef {
  task_id: string;
  /** Decimal. */
  execution_id: string;
}

/** Extension: the first frame of Headrace's own worker on each connection. */
export interface Hello {
  type: 'hello';
  data: {
    protocol: 1;
    /** Of the process, the same over reconnects. */
    instance_id: string;
    version: string;
    backend: string;
    /** How many tasks it takes at once. */
    slots: number;
    features: string[];
    harnesses: WorkerHarness[];
    skills: WorkerSkill[];
    labels?: Record<string, string>;
    /** Its journal: what it still runs. */
    tasks: TaskRef[];
  };
}

export interface WorkerHarness {
  id: string;
  installed: boolean;
  version?: string;
  /** For people; of those that the worker itself defines. */
  install_hint?: string;
}

export interface WorkerSkill {
  name: string;
  description: string;
  /** `owner/name`: the last two segments of the URL of `origin`, or of the directory where there is none. */
  repository?: string;
  /** Of its SKILL.md within the repository. */
  path?: string;
}

/** Extension: state of the worker and of its tasks, answered by what the server wants of each. */
export interface Beat {
  type: 'beat';
  data: { draining: boolean; free_slots: number; tasks: TaskRef[] };
}

export type WorkerFrame = TaskClaimed | TaskRejected | TaskCompleted | TaskFailed | Heartbeat | Hello | Beat;
