import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Set by the database: `headrace.now()`. */
const writtenByDatabase = { type: 'timestamptz', insert: false, update: false } as const;

@Entity({ name: 'factories' })
export class FactoryRow {
  @PrimaryColumn({ type: 'text' }) uid: string;
  @Column({ type: 'text', name: 'team_uid' }) teamUid: string;
  @Column({ type: 'text' }) name: string;
  @Column({ type: 'text' }) description: string;
  @Column({ type: 'text', nullable: true }) alias: string | null;
  @Column({ ...writtenByDatabase, name: 'created_at' }) createdAt: Date;
  @Column({ ...writtenByDatabase, name: 'updated_at' }) updatedAt: Date;
}
