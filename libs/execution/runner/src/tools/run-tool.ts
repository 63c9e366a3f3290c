import type { z } from 'zod';

export interface ToolResult {
  readonly text: string;
  readonly isError?: boolean;
}

/** A tool that the agent of a run can use. */
export interface RunTool {
  readonly name: string;
  readonly title: string;
  /** For the agent. */
  readonly description: string;
  readonly input: z.ZodObject;
  /** `signal`: the agent does not wait for the result any more. */
  readonly execute: (input: unknown, signal: AbortSignal) => Promise<ToolResult>;
}
