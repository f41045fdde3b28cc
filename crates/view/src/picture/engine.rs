//! The JavaScript engine that runs the viewer's drawing code, and the functions that it offers to the code.

use crate::page;
use crate::picture::drawing::Image;
use crate::picture::font::Fonts;
use crate::picture::{Answer, Error, png};
use crate::server::Local;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::prelude::{List, Opt};
use rquickjs::{
    ArrayBuffer, CatchResultExt, Context, Ctx, Exception, Function, Object, Promise, Runtime, Value,
};
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

pub struct Engine {
    context: Context,
    _runtime: Runtime,
    images: Rc<RefCell<Vec<Image>>>,
}

/// Stack of the script.
const STACK: usize = 4 << 20;

impl Engine {
    pub fn new(traces: Local) -> Result<Engine, Error> {
        let failed = |error: rquickjs::Error| Error::Script(error.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime).map_err(failed)?;
        let images = Rc::default();
        context.with(|ctx| {
            let started = host(&ctx, traces, Fonts::new()?, &images)
                .and_then(|()| ctx.eval::<(), _>(page::PICTURE_SCRIPT));
            started.catch(&ctx).map_err(|error| Error::Script(error.to_string()))
        })?;
        Ok(Engine { context, _runtime: runtime, images })
    }

    /// Calls the script's function `picture`. Returns its answer and the pixels of its images.
    pub fn picture(&self, request: &impl Serialize) -> Result<(Answer, Vec<Image>), Error> {
        let request = serde_json::to_string(request).map_err(|error| Error::Script(error.to_string()))?;
        self.images.borrow_mut().clear();
        let answer = self.context.with(|ctx| {
            let function: rquickjs::Result<Function> = ctx.globals().get("picture");
            let promise = function.and_then(|function| function.call::<_, Promise>((request,)));
            let answer = promise.and_then(|promise| promise.finish::<String>());
            answer.catch(&ctx).map_err(|error| Error::Script(error.to_string()))
        })?;
        let answer = serde_json::from_str(&answer).map_err(|error| Error::Script(error.to_string()))?;
        Ok((answer, self.images.take()))
    }
}

/// Defines the object `host` (`web/src/picture/engine.ts`).
fn host<'js>(
    ctx: &Ctx<'js>,
    traces: Local,
    fonts: Fonts,
    images: &Rc<RefCell<Vec<Image>>>,
) -> rquickjs::Result<()> {
    let host = Object::new(ctx.clone())?;
    let get = move |ctx: Ctx<'js>, path: String| -> rquickjs::Result<List<(u16, Value<'js>)>> {
        let answer = traces.get(&path).map_err(|error| Exception::throw_message(&ctx, &error))?;
        let body = match answer.is_json {
            true => rquickjs::String::from_str(ctx, &String::from_utf8_lossy(&answer.body))?.into_value(),
            false => ArrayBuffer::new(ctx, answer.body)?.into_value(),
        };
        Ok(List((answer.status, body)))
    };
    let measure =
        move |text: String, size: f64, weight: Opt<u16>| fonts.width(&text, size, weight.0.unwrap_or(400));
    let keep = {
        let images = images.clone();
        move |width: u32, height: u32, pixels: ArrayBuffer<'js>| {
            let mut images = images.borrow_mut();
            images.push(image(width, height, &pixels));
            images.len() - 1
        }
    };
    let png =
        |ctx: Ctx<'js>, width: u32, height: u32, pixels: ArrayBuffer<'js>| -> rquickjs::Result<String> {
            let bytes = png::of_image(&image(width, height, &pixels));
            let bytes = bytes.map_err(|error| Exception::throw_message(&ctx, &error.to_string()))?;
            Ok(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
        };
    host.set("get", Function::new(ctx.clone(), get)?)?;
    host.set("measure", Function::new(ctx.clone(), measure)?)?;
    host.set("keep", Function::new(ctx.clone(), keep)?)?;
    host.set("png", Function::new(ctx.clone(), png)?)?;
    ctx.globals().set("host", host)
}

fn image(width: u32, height: u32, pixels: &ArrayBuffer) -> Image {
    // SAFETY: no script runs, which could change or free the bytes, before they are copied.
    let mut pixels = unsafe { pixels.as_bytes() }.unwrap_or_default().to_vec();
    pixels.resize(width as usize * height as usize * 4, 255);
    Image { width, height, pixels }
}
