import { z } from 'zod';

// Lists and names have bounds, so that a frame cannot cause more work than its size already does.
const MAX_TASKS = 1_000;
export const MAX_LISTED = 500;

/** Absent and null mean the same: some encoders write one, some the other. */
export const maybe = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
export const id = z.string().min(1).max(256);
export const name = z.string().max(256);
export const text = z.string();
export const count = z.number().int().min(0).max(100_000);
export const stringMap = z.record(z.string(), z.string());

/** A task that a worker runs. `execution_id` is decimal. */
export const taskRef = z.object({ task_id: id, execution_id: id });
export const tasks = z.array(taskRef).max(MAX_TASKS);
export type TaskRef = z.infer<typeof taskRef>;

/** The frames of one direction, from the schema of the data of each type; null for a type without data. */
export type FrameOf<Schemas extends Readonly<Record<string, z.ZodType | null>>> = {
  [Type in keyof Schemas & string]: Schemas[Type] extends z.ZodType
    ? { type: Type; data: z.infer<Schemas[Type]> }
    : { type: Type };
}[keyof Schemas & string];
