//! [`Workgroup`]: invocations that go through a kernel together.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    Block, Expression, Function, Handle, Literal, Module, ScalarKind, Statement, SwitchCase,
    SwitchValue,
};

use crate::arithmetic;
use crate::interpreter::Fault;
use crate::memory::{Memory, Moment};

/// A value of one invocation.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A scalar; a boolean is 0 or 1.
    Word(u32),
    /// A vector of up to three scalars.
    Vector([u32; 3]),
    /// A word of a variable, or its first.
    Global(usize, u32),
    /// A local variable, which is one word.
    Local(usize),
}

/// Which invocations of the workgroup are here.
type Mask = Vec<bool>;

/// One call of a function by the invocations of a workgroup.
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    /// By argument, then by lane.
    arguments: Vec<Vec<Value>>,
    /// By expression, then by lane; empty until it is evaluated.
    values: Vec<Vec<Value>>,
    /// By variable, then by lane.
    locals: Vec<Vec<u32>>,
    returned: Vec<Value>,
}

/// Where the lanes went that left a block in the middle.
struct Exits {
    breaks: Mask,
    continues: Mask,
}

impl Exits {
    fn none(lanes: usize) -> Self {
        Self {
            breaks: vec![false; lanes],
            continues: vec![false; lanes],
        }
    }
}

fn join(mask: &mut Mask, other: &Mask) {
    for (here, there) in mask.iter_mut().zip(other) {
        *here |= there;
    }
}

/// One workgroup of a launch, and all that it can touch.
pub struct Workgroup<'a> {
    /// The kernel.
    pub module: &'a Module,
    /// What naga derived of it.
    pub info: &'a ModuleInfo,
    /// By the index of the global variable.
    pub globals: &'a mut [Memory],
    /// By the index of the global variable.
    pub is_shared: &'a [bool],
    /// Invocations of it.
    pub lanes: usize,
    /// Its number in the launch.
    pub group: u32,
    /// Barriers passed.
    pub phase: u32,
}

impl<'a> Workgroup<'a> {
    /// Runs `function` for the lanes of `active`, by argument and then by lane; gives back what each
    /// lane returned.
    pub fn call(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Vec<Value>>,
        active: Mask,
    ) -> Result<Vec<Value>, Fault> {
        let mut frame = Frame {
            function,
            info,
            arguments,
            values: vec![Vec::new(); function.expressions.len()],
            locals: vec![vec![0; self.lanes]; function.local_variables.len()],
            returned: vec![Value::Word(0); self.lanes],
        };
        for (handle, variable) in function.local_variables.iter() {
            let Some(init) = variable.init else { continue };
            for lane in 0..self.lanes {
                frame.locals[handle.index()][lane] = self.word(&frame, init, lane)?;
            }
        }
        let mut exits = Exits::none(self.lanes);
        self.block(&mut frame, &function.body, active, &mut exits)?;
        Ok(frame.returned)
    }

    /// Runs `block` for the lanes of `active`; gives back those that come to its end.
    fn block(
        &mut self,
        frame: &mut Frame<'a>,
        block: &'a Block,
        mut active: Mask,
        exits: &mut Exits,
    ) -> Result<Mask, Fault> {
        for statement in block {
            if !active.contains(&true) {
                break;
            }
            active = self.statement(frame, statement, active, exits)?;
        }
        Ok(active)
    }

    fn statement(
        &mut self,
        frame: &mut Frame<'a>,
        statement: &'a Statement,
        active: Mask,
        exits: &mut Exits,
    ) -> Result<Mask, Fault> {
        let nobody = vec![false; self.lanes];
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    self.evaluate(frame, handle, &active)?;
                }
                Ok(active)
            }
            Statement::Block(block) => self.block(frame, block, active, exits),
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                let (yes, no) = self.split(frame, *condition, &active)?;
                let mut after = self.block(frame, accept, yes, exits)?;
                join(&mut after, &self.block(frame, reject, no, exits)?);
                Ok(after)
            }
            Statement::Switch { selector, cases } => {
                self.switch(frame, *selector, cases, active, exits)
            }
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => self.repeat(frame, (body, continuing, *break_if), active),
            Statement::Break => {
                join(&mut exits.breaks, &active);
                Ok(nobody)
            }
            Statement::Continue => {
                join(&mut exits.continues, &active);
                Ok(nobody)
            }
            Statement::Return { value } => {
                if let Some(value) = value {
                    for lane in (0..self.lanes).filter(|lane| active[*lane]) {
                        frame.returned[lane] = self.value(frame, *value, lane)?;
                    }
                }
                Ok(nobody)
            }
            Statement::ControlBarrier(_) => {
                let missing = active.iter().filter(|here| !**here).count();
                if missing > 0 {
                    return Err(Fault::Divergence { missing });
                }
                self.phase += 1;
                Ok(active)
            }
            Statement::Store { pointer, value } => {
                for lane in (0..self.lanes).filter(|lane| active[*lane]) {
                    let word = self.word(frame, *value, lane)?;
                    match self.value(frame, *pointer, lane)? {
                        Value::Local(variable) => frame.locals[variable][lane] = word,
                        Value::Global(variable, index) => {
                            let now = self.moment(variable, lane);
                            self.globals[variable].store(index, word, now)?;
                        }
                        other => return Err(Fault::Unknown(format!("a store to {other:?}"))),
                    }
                }
                Ok(active)
            }
            Statement::Call {
                function,
                arguments,
                result,
            } => {
                let arguments = arguments.iter().map(|argument| {
                    let value = |lane: usize| {
                        if active[lane] {
                            self.value(frame, *argument, lane)
                        } else {
                            Ok(Value::Word(0))
                        }
                    };
                    (0..self.lanes).map(value).collect()
                });
                let arguments = arguments.collect::<Result<_, _>>()?;
                let (callee, info) = (&self.module.functions[*function], &self.info[*function]);
                let returned = self.call(callee, info, arguments, active.clone())?;
                if let Some(result) = result {
                    let kept = &mut frame.values[result.index()];
                    kept.resize(self.lanes, Value::Word(0));
                    for lane in (0..self.lanes).filter(|lane| active[*lane]) {
                        kept[lane] = returned[lane];
                    }
                }
                Ok(active)
            }
            other => Err(Fault::Unknown(format!("{other:?}"))),
        }
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'a>,
        selector: Handle<Expression>,
        cases: &'a [SwitchCase],
        mut waiting: Mask,
        exits: &mut Exits,
    ) -> Result<Mask, Fault> {
        let is = |value: SwitchValue, word: u32| match value {
            SwitchValue::U32(case) => case == word,
            SwitchValue::I32(case) => case.cast_unsigned() == word,
            SwitchValue::Default => false,
        };
        let mut inner = Exits::none(self.lanes);
        let mut after = vec![false; self.lanes];
        let mut running = after.clone();
        for case in cases {
            for lane in 0..self.lanes {
                if !waiting[lane] {
                    continue;
                }
                let word = self.word(frame, selector, lane)?;
                // The default may stand anywhere, and is for those whom no case takes.
                let default = case.value == SwitchValue::Default
                    && !cases.iter().any(|other| is(other.value, word));
                if default || is(case.value, word) {
                    waiting[lane] = false;
                    running[lane] = true;
                }
            }
            running = self.block(frame, &case.body, running, &mut inner)?;
            if !case.fall_through {
                join(&mut after, &running);
                running.fill(false);
            }
        }
        join(&mut after, &inner.breaks);
        join(&mut exits.continues, &inner.continues);
        Ok(after)
    }

    fn repeat(
        &mut self,
        frame: &mut Frame<'a>,
        (body, continuing, break_if): (&'a Block, &'a Block, Option<Handle<Expression>>),
        mut looping: Mask,
    ) -> Result<Mask, Fault> {
        let mut after = vec![false; self.lanes];
        while looping.contains(&true) {
            let mut inner = Exits::none(self.lanes);
            looping = self.block(frame, body, looping, &mut inner)?;
            join(&mut looping, &inner.continues);
            join(&mut after, &inner.breaks);
            looping = self.block(frame, continuing, looping, &mut inner)?;
            if let Some(condition) = break_if {
                let (done, more) = self.split(frame, condition, &looping)?;
                join(&mut after, &done);
                looping = more;
            }
        }
        Ok(after)
    }

    /// The lanes of `active` for which `condition` holds, and the others of them.
    fn split(
        &self,
        frame: &Frame<'a>,
        condition: Handle<Expression>,
        active: &Mask,
    ) -> Result<(Mask, Mask), Fault> {
        let mut yes = vec![false; self.lanes];
        let mut no = yes.clone();
        for lane in (0..self.lanes).filter(|lane| active[*lane]) {
            let side = if self.word(frame, condition, lane)? != 0 {
                &mut yes
            } else {
                &mut no
            };
            side[lane] = true;
        }
        Ok((yes, no))
    }

    fn moment(&self, variable: usize, lane: usize) -> Moment {
        Moment {
            group: self.group,
            // A workgroup barrier orders shared memory and nothing else.
            phase: if self.is_shared[variable] {
                self.phase
            } else {
                0
            },
            lane,
        }
    }

    fn evaluate(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
        active: &Mask,
    ) -> Result<(), Fault> {
        // Lanes elsewhere may still need what they computed here before.
        let mut values = std::mem::take(&mut frame.values[handle.index()]);
        values.resize(self.lanes, Value::Word(0));
        for lane in (0..self.lanes).filter(|lane| active[*lane]) {
            values[lane] = self.computed(frame, handle, lane)?;
        }
        frame.values[handle.index()] = values;
        Ok(())
    }

    /// The kind of the scalars of an expression.
    fn kind(&self, frame: &Frame<'a>, handle: Handle<Expression>) -> Result<ScalarKind, Fault> {
        let inner = frame.info[handle].ty.inner_with(&self.module.types);
        match inner.scalar() {
            Some(scalar) => Ok(scalar.kind),
            None => Err(Fault::Unknown(format!("{inner:?}"))),
        }
    }

    fn word(
        &self,
        frame: &Frame<'a>,
        handle: Handle<Expression>,
        lane: usize,
    ) -> Result<u32, Fault> {
        match self.value(frame, handle, lane)? {
            Value::Word(word) => Ok(word),
            other => Err(Fault::Unknown(format!("{other:?} where a word is needed"))),
        }
    }

    /// The value of an expression that needs no computing, or is computed already.
    fn value(
        &self,
        frame: &Frame<'a>,
        handle: Handle<Expression>,
        lane: usize,
    ) -> Result<Value, Fault> {
        match frame.function.expressions[handle] {
            Expression::Literal(literal) => known(literal),
            Expression::Constant(constant) => {
                let init = self.module.constants[constant].init;
                match self.module.global_expressions[init] {
                    Expression::Literal(literal) => known(literal),
                    ref other => Err(Fault::Unknown(format!("{other:?}"))),
                }
            }
            Expression::ZeroValue(_) => Ok(Value::Word(0)),
            Expression::FunctionArgument(index) => Ok(frame.arguments[index as usize][lane]),
            Expression::GlobalVariable(variable) => Ok(Value::Global(variable.index(), 0)),
            Expression::LocalVariable(variable) => Ok(Value::Local(variable.index())),
            ref other => match frame.values[handle.index()].get(lane) {
                Some(value) => Ok(*value),
                None => Err(Fault::Unknown(format!("{other:?}, never computed"))),
            },
        }
    }

    fn computed(
        &mut self,
        frame: &Frame<'a>,
        handle: Handle<Expression>,
        lane: usize,
    ) -> Result<Value, Fault> {
        let expression = &frame.function.expressions[handle];
        let unknown = || Fault::Unknown(format!("{expression:?}"));
        match *expression {
            Expression::Access { base, index } => {
                let index = self.word(frame, index, lane)?;
                element(self.value(frame, base, lane)?, index).ok_or_else(unknown)
            }
            Expression::AccessIndex { base, index } => {
                element(self.value(frame, base, lane)?, index).ok_or_else(unknown)
            }
            Expression::Load { pointer } => match self.value(frame, pointer, lane)? {
                Value::Local(variable) => Ok(Value::Word(frame.locals[variable][lane])),
                Value::Global(variable, index) => {
                    let now = self.moment(variable, lane);
                    self.globals[variable].load(index, now).map(Value::Word)
                }
                _ => Err(unknown()),
            },
            Expression::Unary { op, expr } => {
                let word = self.word(frame, expr, lane)?;
                Ok(Value::Word(arithmetic::unary(op, word)))
            }
            Expression::Binary { op, left, right } => {
                let kind = self.kind(frame, left)?;
                let (left, right) = (
                    self.word(frame, left, lane)?,
                    self.word(frame, right, lane)?,
                );
                Ok(Value::Word(arithmetic::binary(op, kind, left, right)))
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let chosen = self.word(frame, condition, lane)? != 0;
                self.value(frame, if chosen { accept } else { reject }, lane)
            }
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                arg3,
            } => {
                let kind = self.kind(frame, arg)?;
                let arguments = [Some(arg), arg1, arg2, arg3]
                    .into_iter()
                    .flatten()
                    .map(|argument| self.word(frame, argument, lane))
                    .collect::<Result<Vec<_>, _>>()?;
                arithmetic::math(fun, kind, &arguments)
                    .map(Value::Word)
                    .ok_or_else(unknown)
            }
            // Between the 32-bit integers a conversion keeps the bits, as a bitcast does.
            Expression::As { expr, kind, .. } => match kind {
                ScalarKind::Uint | ScalarKind::Sint => self.value(frame, expr, lane),
                ScalarKind::Bool => {
                    let word = self.word(frame, expr, lane)?;
                    Ok(Value::Word((word != 0).into()))
                }
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

fn known(literal: Literal) -> Result<Value, Fault> {
    match literal {
        Literal::U32(value) => Ok(Value::Word(value)),
        Literal::I32(value) => Ok(Value::Word(value.cast_unsigned())),
        Literal::Bool(value) => Ok(Value::Word(value.into())),
        other => Err(Fault::Unknown(format!("{other:?}"))),
    }
}

fn element(base: Value, index: u32) -> Option<Value> {
    match base {
        Value::Global(variable, 0) => Some(Value::Global(variable, index)),
        Value::Vector(components) => components.get(index as usize).copied().map(Value::Word),
        _ => None,
    }
}
