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
  readonly execute: (input: unknown) => Promise<ToolResult>;
}
