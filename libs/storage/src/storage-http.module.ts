import { Module } from '@nestjs/common';
import { ObjectsController } from './http/objects.controller.js';

/** `GET /objects/*`: downloads by signed URL, for the API application. Needs {@link StorageModule}. */
@Module({ controllers: [ObjectsController] })
export class StorageHttpModule {}
